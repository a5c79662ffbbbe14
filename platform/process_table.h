// The processes of this user as the system shows them now: for the administrator's eyes.
//
// Promise: a list to look at, never a proof; what begins or ends meanwhile may or may not be in it. This
// process is not. Errors: what the system answered. Source: proc(5).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "platform/process_identity.h"
#include "platform/result.h"

namespace repobridge::platform {

struct ProcessSeen {
  ProcessIdentity process;
  std::string name;  // chosen by the process: to be shown escaped
  bool carries = false;
  bool inside = false;
};

struct ProcessTable {
  std::vector<ProcessSeen> seen;
  std::size_t closed = 0;  // how many of this user's could not be looked into
};

// Those that were started with `setting` (NAME=value) in their environment, and those whose working directory
// or an open file is in `directory`, a path without links.
Result<ProcessTable> find_processes(const std::string& directory, std::string_view setting);

}  // namespace repobridge::platform
