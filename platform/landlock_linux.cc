#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "platform/files.h"
#include "platform/landlock.h"

namespace repobridge::platform::landlock {
namespace {

// What can be granted on something that is not a directory.
constexpr std::uint64_t kOnFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                   LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDevice;

// As of version 6; an older kernel takes its beginning.
struct Attributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};

}  // namespace

int version() {
  const long known = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return static_cast<int>(std::max(known, 0L));
}

std::uint64_t known_file_rights(int version) {
  std::uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1;  // everything version 1 knows
  if (version >= kVersionOfRefer) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= kVersionOfTruncate) rights |= kTruncate;
  if (version >= kVersionOfIoctl) rights |= kIoctlDevice;
  return rights;
}

Result<Ruleset> Ruleset::make(int version, const Handled& handled) {
  Attributes attributes{.files = handled.files & known_file_rights(version)};
  std::size_t size = sizeof attributes.files;
  if (version >= kVersionOfNetwork) {
    attributes.network = handled.network;
    size += sizeof attributes.network;
  }
  if (version >= kVersionOfScopes) {
    attributes.scopes = handled.scopes;
    size += sizeof attributes.scopes;
  }
  UniqueFd fd(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!fd.valid()) return os_failure("make a Landlock ruleset", errno);
  return Ruleset(std::move(fd), attributes.files);
}

Result<void> Ruleset::grant(int descriptor, std::uint64_t rights) const {
  RB_TRY(const auto facts, facts_of(descriptor));
  rights &= facts.is_directory() ? files_ : files_ & kOnFiles;
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = descriptor};
  if (::syscall(SYS_landlock_add_rule, fd_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return os_failure("grant a file", errno);
  }
  return {};
}

bool restrict_self(int ruleset) { return ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0; }

}  // namespace repobridge::platform::landlock
