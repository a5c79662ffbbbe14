// Who waits for a workdir's lease in this bridge: first come, first served.
//
// Promise: lock() answers at once when nobody waits before it and the lock is free or `limit` is nothing;
// else it waits for its turn, for no longer than `limit`, whoever holds the lock: a call, a helper, another
// program. What ends the wait early: the call was given up, or the holder cannot be proven gone, since that
// does not pass. Turns are among the calls of one bridge; the kernel alone decides between it and others.
// Keyed by the root's identity, so two aliases of one directory stand in one line.
// Owns: nothing of the lock. Threads: the event loop's one. Errors: what LockedWorkdir::lock() says at the
// last look; CALL_CANCELLED. Source: docs/POLICY.md, `WORKDIR_XX_LEASE_WAIT_SECONDS`.
#pragma once

#include <chrono>
#include <deque>
#include <map>

#include "bridge/context.h"
#include "bridge/runs/lease.h"
#include "bridge/wire/asio_fwd.h"
#include "platform/result.h"

namespace repobridge::runs {

class LeaseQueue {
 public:
  // The queue must outlive what this returns.
  asio::awaitable<Result<LockedWorkdir>> lock(bridge::CallContext context, LeasePlace place,
                                              std::chrono::milliseconds limit);

 private:
  class Turn;
  struct Line {
    std::deque<const Turn*> waiting;
    Error last_refusal;  // of the first, who alone looks
  };
  std::map<platform::FileIdentity, Line> lines_;
};

}  // namespace repobridge::runs
