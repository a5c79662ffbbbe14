#include "mcp/front_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files.h"
#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::mcp {
namespace {

namespace codes = policy::codes;

constexpr std::size_t kMaxBytes = 4U << 20U;

Failure unreadable(std::string message, int os_code) {
  Failure failure = policy::refuse(codes::kConfigUnreadable, std::move(message));
  failure.value().os_code = os_code;
  return failure;
}

// The real file, whatever links lead to it.
Result<platform::UniqueFd> open_trusted(const std::string& path) {
  const auto real = platform::canonical_path(path);
  if (!real) return unreadable("there is no such file; `repobridge render` writes it", real.error().os_code);
  if (!platform::check_ancestors(*real)) {
    return unreadable("a directory above it can be changed by another user", 0);
  }
  platform::UniqueFd fd(::open(real->c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return unreadable("it cannot be opened", errno);
  RB_TRY(const auto facts, platform::facts_of(fd.get()));
  const bool owned = facts.owner == ::geteuid() || facts.owner == 0;
  if (!owned || (facts.mode & (S_IWGRP | S_IWOTH)) != 0) {
    return unreadable("it can be changed by another user", 0);
  }
  return fd;
}

}  // namespace

Result<policy::FrontPolicy> read_front_file(const std::string& path) {
  RB_TRY(const auto fd, open_trusted(path));
  const auto text = platform::read_regular(fd.get(), kMaxBytes);
  if (!text) return unreadable("it is no regular file of at most 4 MiB", text.error().os_code);
  const auto value = policy::parse_json(*text);
  if (!value) {
    return policy::refuse(codes::kConfigInvalidSetting,
                          value.error().what + " (byte " + std::to_string(value.error().at_byte) + ")");
  }
  return policy::front_policy_from_json(*value);
}

}  // namespace repobridge::mcp
