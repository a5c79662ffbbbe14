#include "bridge/administrator_key.h"

#include <unistd.h>

#include <cerrno>

namespace repobridge::bridge {
namespace {

std::string path_in(const std::string& state_dir) { return state_dir + "/administrator.key"; }

}  // namespace

Result<wire::Key> make_administrator_key(const std::string& state_dir) {
  const std::string path = path_in(state_dir);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return os_failure("remove an earlier key", errno);
  RB_CHECK(wire::create_key(path));
  return read_administrator_key(state_dir);
}

Result<wire::Key> read_administrator_key(const std::string& state_dir) {
  return wire::read_key(std::string(kAdministrator), path_in(state_dir));
}

}  // namespace repobridge::bridge
