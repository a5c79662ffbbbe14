#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "platform/random.h"

namespace repobridge::platform {

Result<std::string> random_bytes(std::size_t count) {
  constexpr std::size_t kMostPerCall = 256;
  std::string bytes(count, '\0');
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(count - done, kMostPerCall);
    if (::getentropy(bytes.data() + done, now) != 0) return os_failure("draw random bytes", errno);
    done += now;
  }
  return bytes;
}

Result<std::string> random_hex(std::size_t bytes) {
  RB_TRY(const auto raw, random_bytes(bytes));
  return hex_of(raw);
}

std::string hex_of(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    hex += kDigits[value >> 4U];
    hex += kDigits[value & 0xFU];
  }
  return hex;
}

}  // namespace repobridge::platform
