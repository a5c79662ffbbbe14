// The bearer token by which an HTTP caller proves to the front who it is: a secret in a file of its own.
//
// Promise: a token is taken only from a file that nobody but this user (and root) could have read or
// replaced. Units: 32 to 512 characters of RFC 6750, on one line. Errors: TOKEN_FILE_UNUSABLE.
#pragma once

#include <string>

#include "platform/result.h"

namespace repobridge::wire {

Result<std::string> read_token(const std::string& path);
// A new one, 0600; refuses when the file exists.
Result<void> create_token(const std::string& path);

}  // namespace repobridge::wire
