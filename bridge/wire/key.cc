#include "bridge/wire/key.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files.h"
#include "platform/random.h"
#include "policy/codes.h"

namespace repobridge::wire {
namespace {

Failure unsafe(std::string message) { return policy::refuse(policy::codes::kKeyUnsafe, std::move(message)); }

Failure unreadable(int os_code) {
  return fail(Error{.kind = policy::codes::kKeyUnreadable.kind,
                    .code = std::string(policy::codes::kKeyUnreadable.name),
                    .message = "the key file cannot be read; `repobridge init` makes one",
                    .os_code = os_code});
}

Result<void> check_directories(const std::string& path) {
  const auto above = platform::check_ancestors(path);
  if (above) return {};
  if (above.error().os_code != 0) return unreadable(above.error().os_code);
  return unsafe("a directory above the key file is a link, or one that another user could replace it in");
}

}  // namespace

Result<Key> read_key(const std::string& name, const std::string& path) {
  constexpr const char* kWanted = "the key file must be a regular file of this user with mode 0600";
  RB_CHECK(check_directories(path));
  platform::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return errno == ELOOP ? unsafe(kWanted) : unreadable(errno);
  RB_TRY(const auto facts, platform::facts_of(fd.get()));
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (!facts.is_regular() || facts.owner != ::geteuid() || (facts.mode & kOthers) != 0)
    return unsafe(kWanted);
  if (facts.size_bytes != kKeyBytes) return unsafe("the key file must hold exactly 32 bytes");
  RB_TRY(auto bytes, platform::read_regular(fd.get(), kKeyBytes));
  if (bytes.size() != kKeyBytes) return unsafe("the key file must hold exactly 32 bytes");
  return Key{.name = name, .bytes = std::move(bytes)};
}

Result<void> create_key(const std::string& path) {
  RB_TRY(const auto bytes, platform::random_bytes(kKeyBytes));
  return platform::create_file(path, bytes, S_IRUSR | S_IWUSR);
}

}  // namespace repobridge::wire
