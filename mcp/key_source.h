// Where an authorization server's keys are read: a file, or a URL over the network. The one room of libcurl.
//
// Promise: read_keys() answers within the limit of time, takes no more than the limit of bytes, follows no
// redirect, speaks no protocol but the URL's own, sends no credential, and asks for no name of a file beyond
// the ones it was given. It blocks: it is for a thread that may wait. Errors: OAUTH_KEYS_UNAVAILABLE; details
// say what kept it, never the place. Threads: any; a stop that is requested ends it within a second. Units:
// bytes, milliseconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>

#include "platform/result.h"
#include "policy/oauth.h"

namespace repobridge::mcp {

inline constexpr std::size_t kMaxKeysBytes = 262144;

struct KeySource {
  std::string url;      // or
  std::string file;     // of this user or root, and nobody else may write it
  std::string ca_file;  // "" for the system's certificates
  std::chrono::milliseconds limit{5000};
};

KeySource key_source_of(const policy::OauthPolicy& policy);

// The document as it stands there; nothing is known of its form.
Result<std::string> read_keys(const KeySource& source, const std::stop_token& stop);

}  // namespace repobridge::mcp
