// openat2(2): the kernel itself refuses links and ways out of the root, so there is no moment between a check
// and the use of what was checked.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files.h"

namespace repobridge::platform {
namespace {

std::uint64_t flags_for(OpenAs as) {
  switch (as) {
    case OpenAs::readable:
      // O_NONBLOCK: a FIFO in place of a file must not make us wait for its writer.
      return O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    case OpenAs::directory:
      return O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    case OpenAs::location:
      return O_PATH | O_NOFOLLOW | O_CLOEXEC;
  }
  return O_PATH | O_NOFOLLOW | O_CLOEXEC;
}

}  // namespace

Result<UniqueFd> open_beneath(int root, const std::string& relative, OpenAs as) {
  open_how how{};
  how.flags = flags_for(as);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0;; ++attempt) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root, relative.c_str(), &how, sizeof how)));
    if (fd.valid()) return fd;
    // EAGAIN: a rename elsewhere made the kernel unsure that we stayed beneath; it asks to be called again.
    const bool again = errno == EINTR || (errno == EAGAIN && attempt < 100);
    if (!again) return os_failure("open a file beneath its root", errno);
  }
}

}  // namespace repobridge::platform
