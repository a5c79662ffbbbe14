// Who calls over a network, and what for: the one question that an HTTP request must answer before its body
// is looked at.
//
// Promise: a CheckAccess never throws and answers by itself within its own limits; what it refuses says no
// more than the caller may know. Threads: the event loop's one. Source: RFC 6750; MCP "Authorization".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "bridge/wire/asio_fwd.h"

namespace repobridge::mcp {

struct Challenge {
  int status = 401;  // 401: prove who you are; 403: you may not; 503: nobody can tell now
  std::string www_authenticate;
  std::string error;    // "invalid_token", "insufficient_scope", …
  std::string message;  // fixed text
};

struct Access {
  std::string login;   // the name under which the bridge counts and audits
  std::string mode;    // "token", "oauth", "unix", "open"
  bool write = false;  // whether it may call the tools that write
  // What a caller that may only look is told when it asks to write, where a better proof would let it; null:
  // no proof would.
  std::shared_ptr<const Challenge> for_write = nullptr;
};

// Given the value of the Authorization header, empty when there is none.
using CheckAccess = std::function<asio::awaitable<tl::expected<Access, Challenge>>(std::string)>;

}  // namespace repobridge::mcp
