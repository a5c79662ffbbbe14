#include "bridge/git/memory_file.h"

#include <sys/mman.h>

#include <cerrno>

#include "platform/files.h"

namespace repobridge::git {

Result<platform::UniqueFd> memory_file(std::string_view bytes) {
  platform::UniqueFd fd(::memfd_create("repobridge", MFD_CLOEXEC));
  if (!fd.valid()) return os_failure("make a file in memory", errno);
  RB_CHECK(platform::write_all(fd.get(), bytes));
  return fd;
}

std::string path_of_descriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace repobridge::git
