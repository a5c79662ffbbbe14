// The front's end of the doorway: each call opens one channel, says hello, asks, and hears until the outcome.
//
// Promise: a call ends exactly once. Cancelling asks the bridge and goes on listening, since only the bridge
// knows whether the work was done; a call that was not yet sent is not sent any more. A call that the bridge
// has not answered within the answer limit ends all the same, whatever signs of life there are, since clients
// give up soon after; its work goes on. The key is read anew
// for each call, so a rotated one needs no restart. Errors: BRIDGE_UNAVAILABLE, whatever kept the call from
// the bridge; details.outcome is `unknown` when the call may have been carried out. POLICY_OUT_OF_DATE,
// KEY_UNSAFE, KEY_UNREADABLE, REQUEST_TOO_LARGE; and what the bridge itself refuses with. Source:
// docs/PROTOCOL.md sections 1 to 3.
#pragma once

#include <string>

#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/channel.h"
#include "mcp/call.h"
#include "policy/policy.h"

namespace repobridge::mcp {

class BridgeClient {
 public:
  struct Options {
    policy::BridgeAddress address;
    std::string policy_digest;
    std::chrono::milliseconds hello_limit = wire::kHandshakeLimit;
    // Between two signs of life.
    std::chrono::milliseconds idle_limit = wire::kIdleLimit;
    // From the start to the outcome: more than the longest that a call may wait for a turn and then for its
    // work, and less than 45 seconds, by when it must have been answered.
    std::chrono::milliseconds answer_limit{44500};
  };

  BridgeClient(asio::any_io_executor executor, Options options)
      : executor_(std::move(executor)), options_(std::move(options)) {}

  CancelCall start(wire::Request request, CallHandlers handlers);

  // Whether the bridge answers a hello, with what it would refuse a call with.
  asio::awaitable<Result<void>> probe();

 private:
  asio::any_io_executor executor_;
  Options options_;
};

}  // namespace repobridge::mcp
