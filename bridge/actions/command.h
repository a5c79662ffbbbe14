// Command actions: what an administrator approved, run as it was approved.
//
// Promise: pins are verified under the lease before anything starts, and once more: of an action that does
// not mutate what its room has frozen, before its start; otherwise what is there after it has ended. argv,
// limits and environment are the administrator's, the caller adds at most one path of the workdir as the last
// argument. A non-zero exit is a finished run and no error. Errors: REPO_PIN_MISMATCH,
// REPO_ACTION_START_FAILED, REPO_ISOLATION_UNAVAILABLE, PATH_NOT_FOUND, WORKDIR_UNAVAILABLE. Source:
// docs/POLICY.md, "Actions"; docs/PROTOCOL.md section 5.
#pragma once

#include "bridge/context.h"
#include "bridge/parts.h"
#include "bridge/runs/lease.h"
#include "bridge/runs/supervised_run.h"
#include "bridge/wire/asio_fwd.h"
#include "policy/call.h"

namespace repobridge::actions {

asio::awaitable<Result<policy::Json>> view_actions(bridge::CallContext context, bridge::Parts& parts,
                                                   const policy::Workdir& workdir);

asio::awaitable<runs::Written> run_command(bridge::CallContext context, bridge::Parts& parts,
                                           const runs::Lease& lease, const policy::Workdir& workdir,
                                           const policy::Action& action, policy::RunActionCall call);

}  // namespace repobridge::actions
