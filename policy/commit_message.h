// The message of a commit as it will be stored.
//
// Promise: UTF-8 without control characters other than newline and tab, at most 16 KiB, not blank; CRLF
// becomes LF, blank lines at either end go, one newline ends it, which counts too. Lines that begin with '#'
// stay: nobody edits a template. Errors: INVALID_COMMIT_MESSAGE, saying at which byte of what was sent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::policy {

inline constexpr std::size_t kMaxMessageBytes = 16384;

Result<std::string> checked_commit_message(std::string_view text);

}  // namespace repobridge::policy
