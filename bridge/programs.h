// Where the bridge's helper programs stand: beside the bridge itself.
#pragma once

#include <string>

#include "platform/result.h"

namespace repobridge::bridge {

struct Programs {
  std::string git_worker;
  std::string supervisor;
  std::string room;
  std::string git;  // the git program, for pushes
};

}  // namespace repobridge::bridge
