// An exclusive lock on a file, held for as long as the object lives and lost with the process, however it
// ends.
//
// Promise: try_lock() never waits. The lock file is created when missing and never deleted, since deleting it
// would let two holders lock two files of one name; after the lock is taken the name is looked up again and
// must still lead to the locked file. A second try in the same process is refused like one from outside.
// Owns: the descriptor. It is close-on-exec: a child that kept it would keep the lock.
// Errors: LOCK_HELD (someone has it), LOCK_UNSAFE (the file is a link or no file, of another user,
// hard-linked, replaced). Source: flock(2). `flock FILE CMD` of util-linux takes the same lock.
#pragma once

#include <string>

#include "platform/files.h"
#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {

class FileLock {
 public:
  static Result<FileLock> try_lock(const std::string& path);
  // Whether the name still leads to the locked file. If not, another may hold a lock of that name.
  [[nodiscard]] bool still_named() const;
  // Which file is locked.
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  // A copy of it in another process keeps the lock there too.
  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  FileLock(UniqueFd fd, std::string path, const FileIdentity& identity)
      : fd_(std::move(fd)), path_(std::move(path)), identity_(identity) {}
  UniqueFd fd_;
  std::string path_;
  FileIdentity identity_;
};

}  // namespace repobridge::platform
