// The messages between a front and the bridge, and their JSON.
//
// Promise: decode_*() takes exactly the keys of the message, each of its type; encode() of what was decoded
// from encode() gives the same bytes. tests/golden/wire holds the bytes of each. Errors: INVALID_REQUEST;
// PROTOCOL_VERSION_UNSUPPORTED from negotiate(). Source: docs/PROTOCOL.md section 3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::wire {

inline constexpr std::int64_t kProtocolVersion = 1;

// First from the front: the versions it speaks and the rendering it was configured from.
struct ClientHello {
  std::vector<std::int64_t> versions;
  std::string policy_digest;
};

// Who the front says is calling. A claim of that front, named as such in the audit: at most 256 bytes each,
// no control characters.
struct Caller {
  std::string login;
  std::string mode;
};

struct Request {
  std::string id;  // 32 hex digits, chosen by the front; in the audit of both
  std::string tool;
  policy::Json arguments;
  Caller caller;
};

struct Cancel {};

// First from the bridge.
struct ServerHello {
  std::int64_t version = kProtocolVersion;
  std::string policy_digest;
  std::string generation;  // this life of the bridge
};

// Sent while the call is at work, at least every kProgressEvery; shows that the bridge lives.
struct Progress {
  std::int64_t elapsed_ms = 0;
  std::int64_t output_bytes = 0;  // what a run has printed so far
};

// The end of a call. `body` is the envelope, or {"error": …} when is_error.
struct Outcome {
  bool is_error = false;
  policy::Json body;
};

using FromClient = std::variant<ClientHello, Request, Cancel>;
using FromServer = std::variant<ServerHello, Progress, Outcome>;

std::string encode(const FromClient& message);
std::string encode(const FromServer& message);
Result<FromClient> decode_from_client(std::string_view body);
Result<FromServer> decode_from_server(std::string_view body);

// Whether the hello offers a version we speak.
Result<void> negotiate(const ClientHello& hello);

}  // namespace repobridge::wire
