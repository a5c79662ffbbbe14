// What the administrator says of the authorization server whose tokens let a caller in over a network.
//
// Promise: fault_of() finds whatever the front could not keep to, so a policy without a fault has an issuer,
// a resource, exactly one place of keys and somebody who may call. Nothing in it is secret. Errors: an
// OauthFault names the field, which is also the end of its setting's name. Units: seconds. Threads: values.
// Source: RFC 8414 and 9728 for what issuer and resource may be; docs/POLICY.md, "OAuth".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::policy {

struct OauthPolicy {
  static constexpr std::chrono::seconds kMostLeeway{300};

  std::string issuer;        // `iss` is exactly this
  std::string resource;      // `aud` contains exactly this: the URL under which callers know the front
  std::string jwks_url;      // where the issuer's keys are: this
  std::string jwks_file;     // or this
  std::string jwks_ca_file;  // whose certificates the URL's server is proven by; empty: the system's
  std::vector<std::string> algorithms{"RS256", "ES256"};
  std::vector<std::string> allowed_subjects;  // `sub` is one of these; "*" alone: whoever gets a token
  std::string login_claim = "sub";            // under which name calls are counted and audited
  std::chrono::seconds leeway{60};            // how far the two clocks may be apart
};

struct OauthFault {
  std::string field;
  std::string problem;
};

std::optional<OauthFault> fault_of(const OauthPolicy& policy);

// The algorithms that may be allowed: signatures by a key that the front cannot sign with.
bool is_signature_algorithm(std::string_view name);

// A URL in the parts that the front needs; https, or http to this machine alone.
struct WebUrl {
  bool secure = true;
  std::string origin;  // scheme, host and port
  std::string path;    // "" or begins with "/"
  std::string query;   // "" or begins with "?"
};
std::optional<WebUrl> parse_web_url(std::string_view text);

Json to_json(const OauthPolicy& policy);
Result<OauthPolicy> oauth_from_json(const Json& value);

}  // namespace repobridge::policy
