#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "platform/user.h"

namespace repobridge::platform {

Result<User> current_user() {
  User user{.uid = ::geteuid(), .gid = ::getegid(), .login = std::to_string(::geteuid()), .home = "/"};
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  const int os_code = ::getpwuid_r(user.uid, &entry, buffer.data(), buffer.size(), &found);
  if (os_code != 0) return os_failure("look up the current user", os_code);
  if (found != nullptr) {
    user.login = found->pw_name;
    user.home = found->pw_dir;
  }
  return user;
}

}  // namespace repobridge::platform
