#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/file_lock.h"

namespace repobridge::platform {
namespace {

Failure unsafe(std::string message) {
  return fail(Error{.kind = Kind::forbidden, .code = "LOCK_UNSAFE", .message = std::move(message)});
}

}  // namespace

Result<FileLock> FileLock::try_lock(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd.valid() && errno == ELOOP) return unsafe("the lock file is a symbolic link");
  if (!fd.valid() && errno == EISDIR) return unsafe("the lock file is a directory");
  if (!fd.valid()) return os_failure("open a lock file", errno);
  RB_TRY(const auto facts, facts_of(fd.get()));
  if (!facts.is_regular() || facts.owner != ::geteuid() || facts.links != 1) {
    return unsafe("the lock file is not a plain file of this user");
  }
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return os_failure("lock a file", errno);
    return fail(Error{.kind = Kind::busy, .code = "LOCK_HELD", .message = "another process holds the lock"});
  }
  FileLock lock(std::move(fd), path, facts.identity);
  if (!lock.still_named()) return unsafe("the lock file was replaced while it was being locked");
  return lock;
}

bool FileLock::still_named() const {
  struct stat named {};
  return ::lstat(path_.c_str(), &named) == 0 && named.st_dev == identity_.device &&
         named.st_ino == identity_.inode;
}

}  // namespace repobridge::platform
