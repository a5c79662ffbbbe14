#include "policy/http_policy.h"

#include <algorithm>
#include <cctype>

#include "policy/codes.h"

namespace repobridge::policy {
namespace {

const Code& invalid = codes::kConfigInvalidSetting;

constexpr std::size_t kLongestTokenName = 64;
constexpr std::size_t kLongestHostName = 253;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

Json token_to_json(const BearerToken& token) {
  return Json{{"name", token.name}, {"file", token.file}, {"read_only", token.read_only}};
}

Result<BearerToken> token_from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, invalid));
  BearerToken token;
  RB_TRY(token.name, fields.text("name"));
  RB_TRY(token.file, fields.text("file"));
  RB_TRY(token.read_only, fields.flag("read_only", true));
  if (!is_token_name(token.name)) return fields.refuse_field("name", "is no name of a token");
  RB_CHECK(fields.nothing_else());
  return token;
}

Result<std::vector<BearerToken>> tokens_of(Fields& fields) {
  const Json* list = fields.any("tokens");
  if (list == nullptr || !list->is_array()) return fields.refuse_field("tokens", "must be an array");
  std::vector<BearerToken> tokens;
  for (const Json& item : *list) {
    const std::string where = fields.path_of("tokens") + "[" + std::to_string(tokens.size()) + "]";
    RB_TRY(auto token, token_from_json(item, where));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Json tls_to_json(const std::optional<TlsFiles>& tls) {
  if (!tls) return nullptr;
  return Json{{"certificate", tls->certificate}, {"key", tls->key}};
}

Result<std::optional<TlsFiles>> tls_of(Fields& outer) {
  const Json* value = outer.any("tls");
  if (value == nullptr || value->is_null()) return std::nullopt;
  RB_TRY(auto fields, Fields::of(*value, outer.path_of("tls"), invalid));
  TlsFiles tls;
  RB_TRY(tls.certificate, fields.text("certificate"));
  RB_TRY(tls.key, fields.text("key"));
  RB_CHECK(fields.nothing_else());
  return tls;
}

Json limits_to_json(const HttpLimits& limits) {
  return Json{
      {"connections", limits.connections},   {"calls_at_once_per_caller", limits.calls_at_once_per_caller},
      {"read_seconds", limits.read.count()}, {"write_seconds", limits.write.count()},
      {"idle_seconds", limits.idle.count()}, {"keepalive_seconds", limits.keepalive.count()}};
}

Result<std::size_t> count_of(Fields& fields, std::string_view name, std::size_t most) {
  return fields.number(name, 1, static_cast<std::int64_t>(most)).map([](std::int64_t count) {
    return static_cast<std::size_t>(count);
  });
}

Result<std::chrono::seconds> seconds_of(Fields& fields, std::string_view name) {
  return fields.number(name, 1, HttpLimits::kLongest.count()).map([](std::int64_t count) {
    return std::chrono::seconds(count);
  });
}

Result<HttpLimits> limits_of(Fields& outer) {
  const Json* value = outer.any("limits");
  if (value == nullptr) return outer.refuse_field("limits", "is missing");
  RB_TRY(auto fields, Fields::of(*value, outer.path_of("limits"), invalid));
  HttpLimits limits;
  RB_TRY(limits.connections, count_of(fields, "connections", HttpLimits::kMostConnections));
  RB_TRY(limits.calls_at_once_per_caller,
         count_of(fields, "calls_at_once_per_caller", HttpLimits::kMostCallsAtOnce));
  RB_TRY(limits.read, seconds_of(fields, "read_seconds"));
  RB_TRY(limits.write, seconds_of(fields, "write_seconds"));
  RB_TRY(limits.idle, seconds_of(fields, "idle_seconds"));
  RB_TRY(limits.keepalive, seconds_of(fields, "keepalive_seconds"));
  RB_CHECK(fields.nothing_else());
  return limits;
}

// Every element must be of the form that `is_form` knows.
Result<std::vector<std::string>> list_of(Fields& fields, std::string_view name,
                                         bool (*is_form)(std::string_view)) {
  RB_TRY(auto list, fields.texts(name));
  if (!std::ranges::all_of(list, is_form)) return fields.refuse_field(name, "has an element of another form");
  return list;
}

}  // namespace

bool is_token_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestTokenName &&
         std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_host_name(std::string_view text) {
  const bool address = text.starts_with('[') && text.ends_with(']');
  const auto inner = address && text.size() > 2 ? text.substr(1, text.size() - 2) : text;
  return !inner.empty() && inner.size() <= kLongestHostName && std::ranges::all_of(inner, [&](char c) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    return !upper && (is_alnum(c) || c == '.' || c == '-' || (address && c == ':'));
  });
}

bool is_origin(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto scheme = text.substr(0, colon);
  if (!std::ranges::all_of(scheme,
                           [](char c) { return c == '-' || (is_alnum(c) && c == std::tolower(c)); })) {
    return false;
  }
  auto host = text.substr(colon + 3);
  const auto port = host.rfind(':');
  if (port != std::string_view::npos && host.find(']', port) == std::string_view::npos) {
    const auto digits = host.substr(port + 1);
    if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    host = host.substr(0, port);
  }
  return is_host_name(host);
}

Json to_json(const HttpPolicy& policy) {
  Json tokens = Json::array();
  for (const auto& token : policy.tokens) tokens.push_back(token_to_json(token));
  return Json{{"allowed_hosts", policy.allowed_hosts},
              {"allowed_origins", policy.allowed_origins},
              {"allow_non_loopback", policy.allow_non_loopback},
              {"allow_unauthenticated", policy.allow_unauthenticated},
              {"tokens", std::move(tokens)},
              {"tls", tls_to_json(policy.tls)},
              {"limits", limits_to_json(policy.limits)}};
}

Result<HttpPolicy> http_policy_from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, invalid));
  HttpPolicy policy;
  RB_TRY(policy.allowed_hosts, list_of(fields, "allowed_hosts", is_host_name));
  RB_TRY(policy.allowed_origins, list_of(fields, "allowed_origins", is_origin));
  RB_TRY(policy.allow_non_loopback, fields.flag("allow_non_loopback", false));
  RB_TRY(policy.allow_unauthenticated, fields.flag("allow_unauthenticated", false));
  RB_TRY(policy.tokens, tokens_of(fields));
  RB_TRY(policy.tls, tls_of(fields));
  RB_TRY(policy.limits, limits_of(fields));
  RB_CHECK(fields.nothing_else());
  return policy;
}

}  // namespace repobridge::policy
