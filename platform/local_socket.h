// The doorway's socket: a stream socket with a name in the file system that one user can reach.
//
// Promise: a listener binds only inside a private directory of this user, replaces a socket only when it is
// proven stale (same owner, nobody answers, still the same object), lets one of two in that bind at the same
// time (by a lock on the file PATH.lock, which stays), and on its end removes only what it bound. peer_of()
// is what the kernel says about the other end, measured on the connection and not claimed by it. Owns:
// Listener owns the descriptor and the name. connect_local() hands the descriptor to the caller. Errors:
// SOCKET_PATH_TOO_LONG, DIRECTORY_UNSAFE, SOCKET_PATH_IN_USE, SOCKET_UNREACHABLE. Source: unix(7);
// docs/PROTOCOL.md section 1.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "platform/files.h"
#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {

// The bytes a socket's path may have on Linux, without the closing NUL.
inline constexpr std::size_t kMaxSocketPathBytes = 107;

struct PeerIdentity {
  uid_t uid = 0;
  gid_t gid = 0;
};

class Listener {
 public:
  static Result<Listener> bind(const std::string& path);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  // The listening descriptor, non-blocking; still the listener's.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Listener(UniqueFd fd, std::string path, FileIdentity identity)
      : fd_(std::move(fd)), path_(std::move(path)), identity_(identity) {}
  UniqueFd fd_;
  std::string path_;
  FileIdentity identity_;
};

Result<UniqueFd> connect_local(const std::string& path);
Result<PeerIdentity> peer_of(int connected);

}  // namespace repobridge::platform
