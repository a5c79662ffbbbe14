#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "platform/files.h"
#include "platform/readiness.h"

namespace repobridge::platform {
namespace {

void tell_service_manager(std::string_view message) {
  const char* name = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): before any thread
  if (name == nullptr) return;
  const std::string_view path(name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof address.sun_path) return;
  auto* into = static_cast<char*>(address.sun_path);
  std::ranges::copy(path, into);
  if (path.front() == '@') *into = '\0';  // a name that is in no file system
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const auto* any =
      reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  (void)::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL, any, length);
}

}  // namespace

void tell_ready(int ready_fd, std::string_view details) {
  if (ready_fd >= 0) {
    const UniqueFd fd(ready_fd);
    std::string line = "ready";
    if (!details.empty()) line.append(" ").append(details);
    (void)write_all(fd.get(), line + "\n");
  }
  tell_service_manager("READY=1\n");
}

}  // namespace repobridge::platform
