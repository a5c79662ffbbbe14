// Where our own files go: socket, key, state and locks, and what the front reads, each by its setting or its
// default.
//
// Promise: every path is absolute and without links; nothing on the way to it is another user's to change,
// and no workdir holds it. Errors: CONFIG_INVALID, naming the variable or option.
#pragma once

#include <string>

#include "bridge/admin/roots.h"
#include "platform/result.h"
#include "policy/settings.h"

namespace repobridge::admin {

struct OwnFiles {
  std::string socket;
  std::string key;
  std::string state_dir;
  std::string lock_dir;
  policy::HttpPolicy http;
};

// `out` and `home` as in RenderRequest.
Result<OwnFiles> place_own_files(const policy::Settings& settings, const std::string& out,
                                 const std::string& home, const Roots& roots);

// A file that the administrator wrote; `named` is what errors call it.
Result<void> check_outside(const Roots& roots, const std::string& named, const std::string& path);

}  // namespace repobridge::admin
