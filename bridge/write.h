// Calls that write: the lease, the work, and the answer, which comes before the work's end when that takes
// long.
//
// Promise: the work goes on to its own limits whether or not somebody waits; it ends early only when the
// caller cancels before it was answered, the administrator cancels it, or the bridge stops. One that takes
// longer than the call may wait is answered with a handle, and its answer is kept (bridge/runs/registry.h).
// Its line in the audit ends when the work does. Errors: WORKDIR_BUSY, WORKDIR_RECOVERY_REQUIRED,
// TOO_MANY_RUNS, and those of the work.
#pragma once

#include "bridge/admitted_call.h"
#include "bridge/context.h"
#include "bridge/wire/asio_fwd.h"

namespace repobridge::bridge {

asio::awaitable<wire::Outcome> perform_write(CallContext context, Parts& parts, AdmittedCall call,
                                             OnRun on_run);

}  // namespace repobridge::bridge
