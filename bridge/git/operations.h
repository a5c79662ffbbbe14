// The git side of the four tools, as the bridge sees it: a question to a worker, or a few in turn.
//
// Promise: the bridge itself reads no byte of the repository here. commit() and track() hold git's locks
// while the worker works and leave the repository as it was or all done; where that fails, `proven` is false
// and the lease's record says what stands where. Errors: those of the worker; REPO_HEAD_LOCKED,
// REPO_INDEX_LOCKED, REPO_REF_LOCKED.
#pragma once

#include "bridge/context.h"
#include "bridge/parts.h"
#include "bridge/runs/lease.h"
#include "bridge/runs/supervised_run.h"
#include "bridge/wire/asio_fwd.h"
#include "policy/call.h"

namespace repobridge::git {

asio::awaitable<Result<policy::Json>> view_status(bridge::CallContext context, bridge::Parts& parts,
                                                  const policy::Workdir& workdir);
asio::awaitable<Result<policy::Json>> view_diff(bridge::CallContext context, bridge::Parts& parts,
                                                const policy::Workdir& workdir, policy::InspectCall call);
asio::awaitable<runs::Written> commit(bridge::CallContext context, bridge::Parts& parts,
                                      const runs::Lease& lease, const policy::Workdir& workdir,
                                      policy::CommitCall call);
// Moves the tracking branch to where a push took the remote's.
asio::awaitable<runs::Written> track(bridge::CallContext context, bridge::Parts& parts,
                                     const runs::Lease& lease, const policy::Workdir& workdir,
                                     std::string tracking, std::string oid);

}  // namespace repobridge::git
