// front.json as it lies on disk: read whole, once, when the program starts.
//
// Promise: taken only from a regular file of this user or root that nobody else can write or replace, since
// it says which socket and which key are used. Errors: CONFIG_UNREADABLE, CONFIG_INVALID with the JSON path.
#pragma once

#include <string>

#include "platform/result.h"
#include "policy/policy.h"

namespace repobridge::mcp {

Result<policy::FrontPolicy> read_front_file(const std::string& path);

}  // namespace repobridge::mcp
