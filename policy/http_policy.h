// How the front serves over a network, as values: who may reach it, who may call, and how much at once.
//
// Promise: the default serves nobody: loopback only, no token, and nothing without one. It stands in
// front.json alone and does not concern the bridge, so it is no part of the policy's digest. Reading back is
// strict, and a file without it means the default. Errors: CONFIG_INVALID. Source: docs/POLICY.md, "The front
// over HTTP".
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::policy {

// A file with a secret that whoever knows it calls with.
struct BearerToken {
  std::string name;  // the login of its callers: letters, digits, '.', '_', '-'; at most 64
  std::string file;
  bool read_only = false;  // its callers may look and not write
};

struct TlsFiles {
  std::string certificate;  // PEM, the whole chain
  std::string key;
};

struct HttpLimits {
  static constexpr std::size_t kMostConnections = 4096;
  static constexpr std::size_t kMostCallsAtOnce = 256;
  static constexpr std::chrono::seconds kLongest{600};

  std::size_t connections = 512;
  std::size_t calls_at_once_per_caller = 16;
  std::chrono::seconds read{10};       // for a request's header, and again for its body
  std::chrono::seconds write{30};      // for an answer, and for each event of a stream
  std::chrono::seconds idle{75};       // between two requests of a connection
  std::chrono::seconds keepalive{15};  // between two bytes of a stream
};

struct HttpPolicy {
  std::vector<std::string> allowed_hosts;    // names, beside those of loopback
  std::vector<std::string> allowed_origins;  // whole origins, beside those of loopback
  bool allow_non_loopback = false;
  bool allow_unauthenticated = false;
  std::vector<BearerToken> tokens;
  std::optional<TlsFiles> tls;
  HttpLimits limits;
};

bool is_token_name(std::string_view text);
// A host's name or address, without a port: lower case, as it is compared.
bool is_host_name(std::string_view text);
// scheme://host or scheme://host:port, and nothing after it.
bool is_origin(std::string_view text);

Json to_json(const HttpPolicy& policy);
Result<HttpPolicy> http_policy_from_json(const Json& value, const std::string& where);

}  // namespace repobridge::policy
