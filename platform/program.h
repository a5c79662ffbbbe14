// What starting a program leads through: the search path, the links behind the name that was found, and the
// interpreters that "#!" lines name. Whoever may write one of these decides what runs.
//
// Promise: follow_program() reports every name that was used on the way: each link, each directory that a
// link left through "..", and each file that is executed. It looks at the moment and holds nothing, so what
// it says is advice to a check at rendering and no proof at the time of starting.
// Errors: PROGRAM_NOT_FOUND, PROGRAM_NOT_EXECUTABLE, PROGRAM_INTERPRETER. Source: execve(2), env(1),
// path_resolution(7).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"

namespace repobridge::platform {

// The first executable regular file of that name in the directories of `search_path`, absolute ones only:
// an empty or relative entry means whatever directory the caller is in.
Result<std::string> find_program(const std::string& name, std::string_view search_path);

struct ProgramHop {
  std::string path;   // its directories are without links
  bool runs = false;  // a file that is executed; else a link, or a directory left through ".."
};

// The file itself and what stands behind it. `search_path` is for "#!/usr/bin/env NAME".
Result<std::vector<ProgramHop>> follow_program(const std::string& absolute_path,
                                               std::string_view search_path);

}  // namespace repobridge::platform
