// The room of an action, as repobridge-room is to be told of it.
//
// Promise: what must not be read in there is named wherever it lies: the bridge's key, configuration, state,
// locks and socket, and what proves the user's or the machine's identity, in the home of the environment and
// in that of the user database. What is pinned for an action that does not mutate is to be frozen. Threads:
// any. Source: docs/SECURITY.md, "The room".
#pragma once

#include <string>
#include <vector>

#include "bridge/actions/pins.h"
#include "bridge/parts.h"
#include "policy/policy.h"

namespace repobridge::actions {

// repobridge-room and its options, up to the program. `verified`: the pins, just now.
std::vector<std::string> room_argv(const bridge::Parts& parts, const policy::Workdir& workdir,
                                   const policy::Action& action, const Traces& verified);

}  // namespace repobridge::actions
