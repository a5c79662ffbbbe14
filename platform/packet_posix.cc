#include <sys/socket.h>

#include <array>
#include <cstring>

#include "platform/packet.h"

namespace repobridge::platform {
namespace {

// The place of one descriptor beside a packet, aligned as the kernel wants it.
struct alignas(cmsghdr) Beside {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

msghdr message_of(iovec& text, Beside& beside) {
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = beside.bytes.data();
  message.msg_controllen = beside.bytes.size();
  return message;
}

}  // namespace

ssize_t send_packet(int socket, std::string_view text, int descriptor) {
  if (descriptor < 0) return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  iovec bytes{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};  // NOLINT: only read
  Beside beside;
  const msghdr message = message_of(bytes, beside);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t receive_packet(int socket, std::span<char> text, UniqueFd& descriptor) {
  iovec bytes{.iov_base = text.data(), .iov_len = text.size()};
  Beside beside;
  msghdr message = message_of(bytes, beside);
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    descriptor = UniqueFd(received);
  }
  return got;
}

}  // namespace repobridge::platform
