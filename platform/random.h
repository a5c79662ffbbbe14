// Unpredictable bytes from the kernel. Source: getrandom(2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::platform {

Result<std::string> random_bytes(std::size_t count);
// `bytes` random bytes in lower-case hex, twice as many characters.
Result<std::string> random_hex(std::size_t bytes);

// Any bytes in lower-case hex.
std::string hex_of(std::string_view bytes);

}  // namespace repobridge::platform
