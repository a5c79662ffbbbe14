// The two files that `repobridge render` writes, read back by the programs they configure.
//
// Promise: a policy is returned only from a file that nobody but this user or root could have written or
// replaced, and that holds exactly what a rendering holds. The bridge's side must still have the digest it
// carries, so a file edited by hand is noticed here and not taken for the rendering that a front knows.
// Errors: CONFIG_UNREADABLE, CONFIG_INVALID; both say what mends it and neither names a path of the host.
// Source: docs/POLICY.md, "Rendering".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "platform/result.h"
#include "policy/policy.h"

namespace repobridge::wire {

inline constexpr std::size_t kMaxConfigBytes = 4U << 20U;

Result<policy::BridgePolicy> load_bridge_policy(const std::string& path);
Result<policy::FrontPolicy> load_front_policy(const std::string& path);

// The same for text at hand: what `repobridge render` proves before it writes.
Result<policy::BridgePolicy> parse_bridge_policy(std::string_view text);
Result<policy::FrontPolicy> parse_front_policy(std::string_view text);

}  // namespace repobridge::wire
