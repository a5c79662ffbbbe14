// What a client tells its model about this server before the first call.
//
// Promise: the first kSelfContained characters say everything that is needed, since some clients cut there;
// what follows names the workdirs, as many as fit into kMostBytes.
#pragma once

#include <cstddef>
#include <string>

#include "policy/policy.h"

namespace repobridge::mcp {

inline constexpr std::size_t kSelfContained = 512;
inline constexpr std::size_t kMostInstructionBytes = 2000;

std::string instructions(const policy::FrontPolicy& policy);

}  // namespace repobridge::mcp
