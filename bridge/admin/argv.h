// The program of an action, settled at rendering: which file will be started, and that no workdir has a say
// in which one it is.
//
// Promise: argv[0] becomes an absolute path, or "./" and a path of the workdir for a pinned file of it. Every
// link, interpreter and directory on the way lies outside all workdirs, but for files that the action pins.
// Errors: CONFIG_INVALID, naming the variable and the JSON path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "bridge/admin/roots.h"
#include "platform/result.h"
#include "policy/actions.h"

namespace repobridge::admin {

struct ProgramSearch {
  const Roots* roots = nullptr;
  const Root* root = nullptr;    // the action's own workdir
  std::string_view search_path;  // the administrator's PATH
  std::string_view variable;     // for errors
};

// What `program`, which an element of argv starts, leads through. The same Promise.
Result<void> check_hops(const policy::Action& action, std::size_t element, const ProgramSearch& search,
                        const std::string& program);

Result<void> settle_program(policy::Action& action, const ProgramSearch& search);

}  // namespace repobridge::admin
