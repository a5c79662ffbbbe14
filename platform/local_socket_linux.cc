#include <sys/socket.h>

#include <cerrno>

#include "platform/local_socket.h"

namespace repobridge::platform {

Result<PeerIdentity> peer_of(int connected) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return os_failure("ask the kernel who the peer is", errno);
  }
  return PeerIdentity{.uid = credentials.uid, .gid = credentials.gid};
}

}  // namespace repobridge::platform
