#include "bridge/wire/key.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files.h"
#include "platform/random.h"
#include "policy/codes.h"

namespace repobridge::wire {

Result<Key> read_key(const std::string& name, const std::string& path) {
  RB_CHECK(platform::check_ancestors(path));
  platform::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(Error{.kind = Kind::unavailable,
                      .code = std::string(policy::codes::kKeyUnreadable.name),
                      .message = "the key file cannot be read; `repobridge init` makes one",
                      .os_code = errno});
  }
  RB_TRY(const auto facts, platform::facts_of(fd.get()));
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (!facts.is_regular() || facts.owner != ::geteuid() || (facts.mode & kOthers) != 0) {
    return policy::refuse(policy::codes::kKeyUnsafe,
                          "the key file must be a regular file of this user with mode 0600");
  }
  RB_TRY(auto bytes, platform::read_regular(fd.get(), kKeyBytes));
  if (bytes.size() != kKeyBytes) {
    return policy::refuse(policy::codes::kKeyUnsafe, "the key file must hold exactly 32 bytes");
  }
  return Key{.name = name, .bytes = std::move(bytes)};
}

Result<void> create_key(const std::string& path) {
  RB_TRY(const auto bytes, platform::random_bytes(kKeyBytes));
  return platform::create_file(path, bytes, S_IRUSR | S_IWUSR);
}

}  // namespace repobridge::wire
