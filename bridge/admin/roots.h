// The workdirs' places on this host, and the question what lies inside one of them.
//
// Promise: made only of existing directories, none of which is, holds or lies in another, under any name:
// what is compared is the path without links and the device and inode of every directory on the way. A bind
// mount of a part of one workdir, reached by another path, is the one case that this cannot see. Errors:
// CONFIG_INVALID, naming the variable.
#pragma once

#include <string>
#include <vector>

#include "platform/files.h"
#include "platform/result.h"
#include "policy/settings.h"

namespace repobridge::admin {

struct Root {
  std::string slot;
  std::string path;  // without links
  platform::FileIdentity identity;
};

class Roots {
 public:
  static Result<Roots> of(const std::vector<policy::WorkdirSettings>& workdirs);

  [[nodiscard]] const Root& of_slot(const std::string& slot) const;
  // The workdir that is or holds `path`, which is without links and need not exist; nullptr when none does.
  [[nodiscard]] Result<const Root*> holding(const std::string& path) const;

 private:
  std::vector<Root> roots_;
};

Result<Root> root_of(const policy::WorkdirSettings& workdir);

}  // namespace repobridge::admin
