#include "mcp/oauth.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "mcp/jwt.h"
#include "mcp/key_source.h"
#include "policy/text.h"

namespace repobridge::mcp {
namespace {

using policy::Json;
using policy::OauthPolicy;

constexpr std::string_view kWellKnown = "/.well-known/oauth-protected-resource";
constexpr std::size_t kMaxLoginBytes = 256;  // what the bridge takes for a caller's name
constexpr int kUnproven = 401;
constexpr int kForbidden = 403;
constexpr int kNobodyKnows = 503;

// "" for a resource at the top of its host.
std::string resource_path(const policy::WebUrl& resource) {
  return resource.path == "/" ? std::string() : resource.path;
}

std::string metadata_url(const OauthPolicy& policy) {
  const auto resource = policy::parse_web_url(policy.resource);
  return resource->origin + std::string(kWellKnown) + resource_path(*resource);
}

std::string both_scopes() { return std::string(kReadScope) + " " + std::string(kWriteScope); }

// All of it is fixed text or checked when it was configured: nothing in it needs an escape.
std::string challenge_text(const OauthPolicy& policy, std::string_view error, std::string_view description,
                           std::string_view scope) {
  std::string text = "Bearer ";
  if (!error.empty()) {
    text += "error=\"" + std::string(error) + "\", error_description=\"" + std::string(description) + "\", ";
  }
  return text + "resource_metadata=\"" + metadata_url(policy) + "\", scope=\"" + std::string(scope) + "\"";
}

tl::unexpected<Challenge> unproven(const OauthPolicy& policy, std::string_view why) {
  return tl::unexpected(
      Challenge{.status = kUnproven,
                .www_authenticate = challenge_text(policy, "invalid_token", why, both_scopes()),
                .error = "invalid_token",
                .message = std::string(why)});
}

// RFC 6750 section 3.1: who brought nothing is told of no error.
tl::unexpected<Challenge> without_token(const OauthPolicy& policy) {
  return tl::unexpected(Challenge{.status = kUnproven,
                                  .www_authenticate = challenge_text(policy, "", "", both_scopes()),
                                  .error = "invalid_token",
                                  .message = "a bearer token is needed"});
}

Challenge scope_missing(const OauthPolicy& policy, std::string_view needed, std::string_view why) {
  return {.status = kForbidden,
          .www_authenticate = challenge_text(policy, "insufficient_scope", why, needed),
          .error = "insufficient_scope",
          .message = std::string(why)};
}

// Another token of the same person would change nothing, so nothing invites the client to fetch one.
tl::unexpected<Challenge> not_allowed(std::string_view why) {
  return tl::unexpected(Challenge{
      .status = kForbidden, .www_authenticate = "", .error = "access_denied", .message = std::string(why)});
}

tl::unexpected<Challenge> nobody_knows() {
  return tl::unexpected(
      Challenge{.status = kNobodyKnows,
                .www_authenticate = "",
                .error = "temporarily_unavailable",
                .message = "the authorization server's keys cannot be had now; try again later"});
}

// The token of "Bearer TOKEN", the scheme in letters of either case; nullopt when it is something else.
std::optional<std::string> bearer_token(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  header = policy::trimmed(header);
  if (policy::lower_ascii(header.substr(0, kScheme.size())) != kScheme) return std::nullopt;
  return std::string(policy::trimmed(header.substr(kScheme.size())));
}

const std::string* text_claim(const Json& claims, const std::string& name) {
  const auto found = claims.find(name);
  return found == claims.end() ? nullptr : found->get_ptr<const std::string*>();
}

// Seconds since 1970, maybe with a fraction; nullopt when it is absent or no number.
std::optional<double> time_claim(const Json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  const auto seconds = found->get<double>();
  return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
}

// "" when the time is right.
std::string_view time_fault(const OauthPolicy& policy, const Json& claims,
                            std::chrono::system_clock::time_point at) {
  const double now = std::chrono::duration<double>(at.time_since_epoch()).count();
  const auto leeway = static_cast<double>(policy.leeway.count());
  const auto expires = time_claim(claims, "exp");
  if (!expires) return "the token has no end";
  if (now >= *expires + leeway) return "the token has expired";
  for (const char* name : {"nbf", "iat"}) {
    if (!claims.contains(name)) continue;
    const auto begins = time_claim(claims, name);
    if (!begins) return "the token's times are no numbers";
    if (now < *begins - leeway) return "the token is not valid yet";
  }
  return {};
}

bool is_for(const Json& claims, const std::string& resource) {
  const auto audience = claims.find("aud");
  if (audience == claims.end()) return false;
  if (audience->is_string()) return *audience == resource;
  return audience->is_array() &&
         std::ranges::any_of(*audience, [&](const Json& one) { return one == resource; });
}

// The scopes of `scope` and `scp`, each a text with blanks between or a list; nullopt when one is neither.
std::optional<std::vector<std::string>> scopes_of(const Json& claims) {
  std::vector<std::string> scopes;
  for (const char* name : {"scope", "scp"}) {
    const auto found = claims.find(name);
    if (found == claims.end()) continue;
    if (found->is_string()) {
      for (auto& scope : policy::split(found->get<std::string>(), ' ')) scopes.push_back(std::move(scope));
    } else if (found->is_array() && std::ranges::all_of(*found, &Json::is_string)) {
      for (const auto& scope : *found) scopes.push_back(scope.get<std::string>());
    } else {
      return std::nullopt;
    }
  }
  return scopes;
}

bool is_allowed(const OauthPolicy& policy, const std::string& subject) {
  const auto& allowed = policy.allowed_subjects;
  const bool everybody = allowed.size() == 1 && allowed.front() == "*";
  return everybody || std::ranges::find(allowed, subject) != allowed.end();
}

// As the bridge takes it: short, and without what a terminal obeys.
bool is_login(const std::string* text) {
  return text != nullptr && !text->empty() && text->size() <= kMaxLoginBytes &&
         std::ranges::none_of(*text,
                              [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

asio::awaitable<tl::expected<Access, Challenge>> check_both(CheckAccess first, CheckAccess oauth,
                                                            std::string header) {
  auto access = co_await first(header);
  if (access) co_return access;
  co_return co_await oauth(std::move(header));
}

std::string_view text_of(KeyMiss miss) {
  return miss == KeyMiss::ambiguous ? "the token names no key" : "the token's key is not known";
}

// What claims allow, once they are proven.
tl::expected<Access, Challenge> judge(const OauthPolicy& policy, const Claims& claims,
                                      std::chrono::system_clock::time_point now) {
  const Json& object = claims.object();
  const auto* issuer = text_claim(object, "iss");
  if (issuer == nullptr || *issuer != policy.issuer)
    return unproven(policy, "the token is of another issuer");
  if (!is_for(object, policy.resource)) return unproven(policy, "the token is for another resource");
  if (const auto fault = time_fault(policy, object, now); !fault.empty()) return unproven(policy, fault);
  const auto* subject = text_claim(object, "sub");
  if (subject == nullptr || subject->empty()) return unproven(policy, "the token has no subject");
  if (!is_allowed(policy, *subject)) return not_allowed("the token's subject is not allowed here");
  const auto* login = text_claim(object, policy.login_claim);
  if (!is_login(login)) return not_allowed("the token does not name its caller as the administrator asks");
  const auto scopes = scopes_of(object);
  if (!scopes) return unproven(policy, "the token's scopes are no text");
  const auto has = [&scopes](std::string_view name) {
    return std::ranges::find(*scopes, name) != scopes->end();
  };
  if (!has(kReadScope)) {
    return tl::unexpected(scope_missing(policy, kReadScope, "the token lacks the scope repo:read"));
  }
  Access access{.login = *login, .mode = "oauth", .write = has(kWriteScope)};
  if (!access.write) access.for_write = std::make_shared<const Challenge>(write_scope_missing(policy));
  return access;
}

asio::awaitable<tl::expected<Access, Challenge>> check(std::shared_ptr<const OauthPolicy> policy,
                                                       std::shared_ptr<KeySet> keys, WallClock now,
                                                       std::string header) {
  const auto token = bearer_token(header);
  if (!token) co_return without_token(*policy);
  const auto jwt = Jwt::read(*token);
  if (!jwt) co_return unproven(*policy, jwt.error().what);
  const auto& allowed = policy->algorithms;
  if (std::ranges::find(allowed, jwt->algorithm()) == allowed.end()) {
    co_return unproven(*policy, "the token's algorithm is not allowed");
  }
  const auto key = co_await KeySet::find(keys, jwt->kid(), jwt->algorithm());
  if (!key && key.error() == KeyMiss::unreachable) co_return nobody_knows();
  if (!key) co_return unproven(*policy, text_of(key.error()));
  const auto claims = jwt->proven_by(**key);
  if (!claims) co_return unproven(*policy, claims.error().what);
  co_return judge(*policy, *claims, now());
}

}  // namespace

CheckAccess oauth_access(OauthPolicy policy, std::shared_ptr<KeySet> keys, WallClock now) {
  return [policy = std::make_shared<const OauthPolicy>(std::move(policy)), keys = std::move(keys),
          now = std::move(now)](std::string header) { return check(policy, keys, now, std::move(header)); };
}

CheckAccess or_oauth(CheckAccess first, CheckAccess oauth) {
  return [first = std::move(first), oauth = std::move(oauth)](std::string header) {
    return check_both(first, oauth, std::move(header));
  };
}

std::shared_ptr<KeySet> oauth_keys(asio::any_io_executor executor, const OauthPolicy& policy,
                                   std::function<void(const Error&)> report) {
  const auto read = [source = key_source_of(policy)](const std::stop_token& stop) {
    return read_keys(source, stop);
  };
  return KeySet::make(std::move(executor), {.read = read, .report = std::move(report)});
}

Challenge write_scope_missing(const OauthPolicy& policy) {
  // Both: a client asks for what it is told, and would else lose what it has.
  return scope_missing(policy, both_scopes(), "the token lacks the scope repo:write");
}

std::map<std::string, std::string> protected_resource_metadata(const OauthPolicy& policy) {
  const auto document = policy::dump_json(Json{{"resource", policy.resource},
                                               {"resource_name", "Repobridge"},
                                               {"authorization_servers", {policy.issuer}},
                                               {"scopes_supported", {kReadScope, kWriteScope}},
                                               {"bearer_methods_supported", {"header"}}});
  const auto resource = policy::parse_web_url(policy.resource);
  // Clients look in either place; RFC 9728 section 3.1 has the second.
  return {{std::string(kWellKnown), document},
          {std::string(kWellKnown) + resource_path(*resource), document}};
}

}  // namespace repobridge::mcp
