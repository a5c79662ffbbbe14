// The front over HTTP, from its settings to its end.
//
// Promise: returns when a signal has ended it and what it was at has been answered, or kDrainLimit has
// passed, or a second signal came. Errors: what keeps it from starting; CONFIG_INVALID when it would serve
// nobody or everybody without being told to.
#pragma once

#include <chrono>
#include <string>

#include "platform/result.h"
#include "policy/policy.h"

namespace repobridge::mcp {

// A little longer than any call may wait.
inline constexpr std::chrono::seconds kDrainLimit{50};

struct HttpOptions {
  std::string address;         // ADDRESS:PORT, or none
  std::string local_path;      // of a local socket, or none
  std::string status_address;  // ADDRESS:PORT, or none
  int ready_fd = -1;           // gets "ready", and where each door is: http=… status=…
};

Result<void> serve_http(policy::FrontPolicy policy, const HttpOptions& options);

}  // namespace repobridge::mcp
