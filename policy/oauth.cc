#include "policy/oauth.h"

#include <algorithm>
#include <array>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

constexpr std::size_t kMaxUrlBytes = 1024;
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMostSubjects = 1000;

// No `none`, and no HMAC: whoever could check that could also make it.
constexpr std::array<std::string_view, 9> kAlgorithms{"RS256", "RS384", "RS512", "PS256", "PS384",
                                                      "PS512", "ES256", "ES384", "ES512"};

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool all_of(std::string_view text, std::string_view also) {
  return std::ranges::all_of(
      text, [also](char c) { return is_alphanumeric(c) || also.find(c) != std::string_view::npos; });
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// host, host:port, [address] or [address]:port.
bool is_authority(std::string_view text) {
  const auto bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const auto host_end = bracket != std::string_view::npos ? bracket + 1 : text.find(':');
  const auto host = text.substr(0, host_end);
  const auto rest = host_end < text.size() ? text.substr(host_end) : std::string_view();
  const bool host_fits = bracket != std::string_view::npos
                             ? host.size() > 2 && all_of(host.substr(1, host.size() - 2), ":.")
                             : !host.empty() && all_of(host, ".-");
  return host_fits && (rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1))));
}

bool is_loopback(std::string_view authority) {
  const auto is_host = [authority](std::string_view host) {
    return authority == host || authority.starts_with(std::string(host) + ":");
  };
  return is_host("127.0.0.1") || is_host("localhost") || is_host("[::1]");
}

std::optional<OauthFault> fault_of_place(const std::string& field, const std::string& url) {
  const auto parsed = parse_web_url(url);
  if (!parsed) {
    return OauthFault{field, "must be an https URL without user, fragment or blanks (http on loopback)"};
  }
  if (!parsed->query.empty()) return OauthFault{field, "must have no query"};
  return std::nullopt;
}

std::optional<OauthFault> fault_of_keys(const OauthPolicy& policy) {
  if (policy.jwks_url.empty() && policy.jwks_file.empty()) {
    return OauthFault{"jwks_url", "or _JWKS_FILE must say where the issuer's keys are"};
  }
  if (!policy.jwks_url.empty() && !policy.jwks_file.empty()) {
    return OauthFault{"jwks_file", "and _JWKS_URL are both set; keep one of them"};
  }
  if (!policy.jwks_url.empty() && !parse_web_url(policy.jwks_url)) {
    return OauthFault{"jwks_url", "must be an https URL without user, fragment or blanks (http on loopback)"};
  }
  if (!policy.jwks_file.empty() && !policy.jwks_file.starts_with('/')) {
    return OauthFault{"jwks_file", "must be an absolute path"};
  }
  if (policy.jwks_ca_file.empty()) return std::nullopt;
  if (policy.jwks_url.empty()) return OauthFault{"jwks_ca_file", "is of use with _JWKS_URL only"};
  if (!policy.jwks_ca_file.starts_with('/')) return OauthFault{"jwks_ca_file", "must be an absolute path"};
  return std::nullopt;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && is_utf8(text) &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

std::optional<OauthFault> fault_of_algorithms(const std::vector<std::string>& algorithms) {
  if (algorithms.empty()) return OauthFault{"algorithms", "must name one at least"};
  if (std::ranges::all_of(algorithms, is_signature_algorithm)) return std::nullopt;
  return OauthFault{"algorithms", "must be of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512"};
}

std::optional<OauthFault> fault_of_subjects(const std::vector<std::string>& subjects) {
  if (subjects.empty()) {
    return OauthFault{"allowed_subjects", "must name who may call (* for whoever the issuer lets in)"};
  }
  if (subjects.size() > kMostSubjects) return OauthFault{"allowed_subjects", "names more than 1000"};
  if (!std::ranges::all_of(subjects, is_name)) {
    return OauthFault{"allowed_subjects", "has one of more than 256 bytes or with a control character"};
  }
  // A star among names would read as one more name and let everybody in.
  if (subjects.size() > 1 && std::ranges::find(subjects, "*") != subjects.end()) {
    return OauthFault{"allowed_subjects", "must be * alone, or names"};
  }
  return std::nullopt;
}

}  // namespace

bool is_signature_algorithm(std::string_view name) {
  return std::ranges::find(kAlgorithms, name) != kAlgorithms.end();
}

std::optional<WebUrl> parse_web_url(std::string_view text) {
  constexpr std::string_view kSecure = "https://";
  constexpr std::string_view kPlain = "http://";
  WebUrl url;
  url.secure = text.starts_with(kSecure);
  if (text.size() > kMaxUrlBytes || (!url.secure && !text.starts_with(kPlain))) return std::nullopt;
  const auto scheme = url.secure ? kSecure : kPlain;
  const auto authority = text.substr(scheme.size(), text.find_first_of("/?", scheme.size()) - scheme.size());
  const auto rest = text.substr(scheme.size() + authority.size());
  if (!is_authority(authority) || !(url.secure || is_loopback(authority))) return std::nullopt;
  if (!all_of(rest, "/?-._~!$&'()*+,;=:@%")) return std::nullopt;
  url.origin = std::string(scheme) + std::string(authority);
  url.path = rest.substr(0, rest.find('?'));
  url.query = rest.substr(url.path.size());
  return url;
}

std::optional<OauthFault> fault_of(const OauthPolicy& policy) {
  if (policy.issuer.empty()) return OauthFault{"issuer", "must name the authorization server"};
  if (auto fault = fault_of_place("issuer", policy.issuer)) return fault;
  if (policy.resource.empty()) return OauthFault{"resource", "must be the URL under which callers know this"};
  if (auto fault = fault_of_place("resource", policy.resource)) return fault;
  if (auto fault = fault_of_keys(policy)) return fault;
  if (auto fault = fault_of_algorithms(policy.algorithms)) return fault;
  if (auto fault = fault_of_subjects(policy.allowed_subjects)) return fault;
  if (!is_name(policy.login_claim)) return OauthFault{"login_claim", "must be the name of a claim"};
  if (policy.leeway < std::chrono::seconds{0} || policy.leeway > OauthPolicy::kMostLeeway) {
    return OauthFault{"leeway_seconds", "must be a whole number from 0 to 300"};
  }
  return std::nullopt;
}

Json to_json(const OauthPolicy& policy) {
  return Json{{"issuer", policy.issuer},
              {"resource", policy.resource},
              {"jwks_url", policy.jwks_url},
              {"jwks_file", policy.jwks_file},
              {"jwks_ca_file", policy.jwks_ca_file},
              {"algorithms", policy.algorithms},
              {"allowed_subjects", policy.allowed_subjects},
              {"login_claim", policy.login_claim},
              {"leeway_seconds", policy.leeway.count()}};
}

Result<OauthPolicy> oauth_from_json(const Json& value) {
  RB_TRY(auto fields, Fields::of(value, "oauth", codes::kConfigInvalidSetting));
  OauthPolicy policy;
  RB_TRY(policy.issuer, fields.text("issuer"));
  RB_TRY(policy.resource, fields.text("resource"));
  RB_TRY(policy.jwks_url, fields.text("jwks_url"));
  RB_TRY(policy.jwks_file, fields.text("jwks_file"));
  RB_TRY(policy.jwks_ca_file, fields.text("jwks_ca_file"));
  RB_TRY(policy.algorithms, fields.texts("algorithms"));
  RB_TRY(policy.allowed_subjects, fields.texts("allowed_subjects"));
  RB_TRY(policy.login_claim, fields.text("login_claim"));
  RB_TRY(const auto leeway, fields.number("leeway_seconds", 0, OauthPolicy::kMostLeeway.count()));
  policy.leeway = std::chrono::seconds(leeway);
  RB_CHECK(fields.nothing_else());
  if (const auto fault = fault_of(policy)) return fields.refuse_field(fault->field, fault->problem);
  return policy;
}

}  // namespace repobridge::policy
