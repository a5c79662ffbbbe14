// Values that several tests of the front begin with.
#pragma once

#include <string>

#include "policy/policy.h"

namespace repobridge::mcp {

// Two workdirs: `app` may be written, `docs` may not.
inline policy::FrontPolicy sample_policy() {
  policy::FrontPolicy policy{.digest = std::string(64, 'd'),
                             .bridge = {.name = "local",
                                        .socket_path = "/nowhere/bridge.sock",
                                        .key_name = "local",
                                        .key_file = "/nowhere/bridge.key"}};
  policy.workdirs["app"] = {.alias = "app", .description = "The application", .read_only = false};
  policy.workdirs["docs"] = {.alias = "docs", .description = "Its documents", .read_only = true};
  return policy;
}

}  // namespace repobridge::mcp
