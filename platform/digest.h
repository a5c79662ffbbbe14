// SHA-256, of values and of what a descriptor holds. The only header of ours that stands for OpenSSL's
// digests.
//
// Threads: a Sha256 belongs to one thread. Units: digests are 64 lower-case hex characters.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::platform {

class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  // Ends the digest; the object takes no more bytes.
  std::string hex();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

std::string sha256_hex(std::string_view bytes);

// Proves to who knows the key that one who knew it made the message.
std::string hmac_sha256_hex(std::string_view key, std::string_view message);

// Whether two digests are the same, in a time that does not tell where they differ.
bool same_digest(std::string_view one, std::string_view other);

// The 20 raw bytes of a SHA-1: for git's index file, which ends in one. Proves nothing to anybody.
std::string sha1_bytes(std::string_view bytes);

// Digest of everything from the descriptor's position to its end. FILE_TOO_LARGE past `max_bytes`.
Result<std::string> sha256_of(int fd, std::size_t max_bytes);

}  // namespace repobridge::platform
