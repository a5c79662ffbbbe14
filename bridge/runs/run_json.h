// What a caller is shown of a run that is not its call's own answer.
//
// Source: docs/PROTOCOL.md section 5, "Long work".
#pragma once

#include "bridge/runs/tracked_run.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::runs {

// The handle: it is still at work.
policy::Json running_json(const TrackedRun& run);

// It was at work when the bridge died.
policy::Json interrupted_json(const RunFacts& facts);

// An ended run: what its call would have been answered with. Of an action that is the run itself; a commit's
// or push's answer stands in `result`. An error is the call's error.
Result<policy::Json> ended_json(const TrackedRun& run);

}  // namespace repobridge::runs
