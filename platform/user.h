// The user this process runs as. Source: getpwuid_r(3).
#pragma once

#include <sys/types.h>

#include <string>

#include "platform/result.h"

namespace repobridge::platform {

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string login;  // the uid in digits where the system has no name for it
  std::string home;   // from the user database, not from $HOME, which whoever starts us can set
};

Result<User> current_user();

}  // namespace repobridge::platform
