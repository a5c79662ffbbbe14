// The key by which a front and the bridge know each other: 32 random bytes in a file of its own.
//
// Promise: read_key() takes the file only when nobody but this user (and root) could have read or replaced
// it. Errors: KEY_UNSAFE, KEY_UNREADABLE.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "platform/result.h"

namespace repobridge::wire {

inline constexpr std::size_t kKeyBytes = 32;

struct Key {
  std::string name;  // the identity sent in clear in the handshake; no secret
  std::string bytes;
};

using KeyRing = std::map<std::string, Key, std::less<>>;

Result<Key> read_key(const std::string& name, const std::string& path);
// A new key file, 0600; refuses when the file exists.
Result<void> create_key(const std::string& path);

}  // namespace repobridge::wire
