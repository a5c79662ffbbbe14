#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "platform/file_lock.h"
#include "platform/local_socket.h"

namespace repobridge::platform {
namespace {

constexpr int kBacklog = 64;

Failure refusal(Kind kind, std::string code, std::string message) {
  return fail(Error{.kind = kind, .code = std::move(code), .message = std::move(message)});
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() > kMaxSocketPathBytes) {
    return refusal(Kind::invalid, "SOCKET_PATH_TOO_LONG",
                   "the socket's path must have 1 to 107 bytes; choose a shorter directory");
  }
  std::copy(path.begin(), path.end(), static_cast<char*>(address.sun_path));
  return address;
}

// The socket API takes the address of any family through its common prefix.
const sockaddr* as_any(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

Result<UniqueFd> new_socket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return os_failure("make a local socket", errno);
  return fd;
}

Failure in_use() {
  return refusal(Kind::conflict, "SOCKET_PATH_IN_USE",
                 "the socket's path is taken by a running bridge or by something that is not a socket");
}

// Between bind(2) and listen(2) a socket looks stale; so whoever binds holds this meanwhile, and of two
// bridges that start together neither removes the other's.
Result<FileLock> turn_to_bind(const std::string& path) {
  auto turn = FileLock::try_lock(path + ".lock");
  if (!turn && turn.error().code == "LOCK_HELD") return in_use();
  return turn;
}

// Removes what a crashed bridge left behind. Between two looks at the name lies the probe; if the name still
// leads to the same socket and nobody answered there, it is stale.
Result<void> remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat before {};
  if (::lstat(path.c_str(), &before) != 0) {
    return errno == ENOENT ? Result<void>() : os_failure("look at the socket's path", errno);
  }
  if (!S_ISSOCK(before.st_mode) || before.st_uid != ::geteuid()) return in_use();
  RB_TRY(const UniqueFd probe, new_socket());
  if (::connect(probe.get(), as_any(address), sizeof address) == 0 || errno != ECONNREFUSED) return in_use();
  struct stat after {};
  if (::lstat(path.c_str(), &after) != 0) {
    return errno == ENOENT ? Result<void>() : os_failure("look at the socket's path", errno);
  }
  if (before.st_dev != after.st_dev || before.st_ino != after.st_ino) return in_use();
  if (::unlink(path.c_str()) != 0) return os_failure("remove a stale socket", errno);
  return {};
}

}  // namespace

Result<Listener> Listener::bind(const std::string& path) {
  RB_TRY(const auto address, address_of(path));
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) {
    return refusal(Kind::invalid, "DIRECTORY_UNSAFE", "the socket must stand in a private directory");
  }
  RB_CHECK(make_private_directory(path.substr(0, slash)));
  RB_TRY(const auto turn, turn_to_bind(path));
  RB_CHECK(remove_stale(path, address));
  RB_TRY(UniqueFd fd, new_socket());
  if (::bind(fd.get(), as_any(address), sizeof address) != 0) return os_failure("bind the socket", errno);
  struct stat bound {};
  if (::lstat(path.c_str(), &bound) != 0) return os_failure("look at the bound socket", errno);
  Listener listener(std::move(fd), path, {.device = bound.st_dev, .inode = bound.st_ino});
  // The directory already keeps everyone else out; the mode says so on the socket itself too.
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) return os_failure("close the socket to others", errno);
  if (::listen(listener.fd(), kBacklog) != 0) return os_failure("listen on the socket", errno);
  return listener;
}

Listener::~Listener() {
  if (!fd_.valid()) return;
  struct stat now {};
  const bool ours =
      ::lstat(path_.c_str(), &now) == 0 && now.st_dev == identity_.device && now.st_ino == identity_.inode;
  if (ours) (void)::unlink(path_.c_str());  // a name that stays behind is recovered by the next bind()
}

Result<UniqueFd> connect_local(const std::string& path) {
  RB_TRY(const auto address, address_of(path));
  RB_TRY(UniqueFd fd, new_socket());
  while (::connect(fd.get(), as_any(address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    return fail(Error{.kind = Kind::unavailable,
                      .code = "SOCKET_UNREACHABLE",
                      .message = "nobody answers on the socket",
                      .os_code = errno});
  }
  return fd;
}

}  // namespace repobridge::platform
