#include "policy/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

constexpr std::string_view kWorkdirPrefix = "WORKDIR_";
constexpr std::size_t kSlotLength = std::string_view("WORKDIR_01_").size();
constexpr std::size_t kMaxDescriptionBytes = 1024;
constexpr std::size_t kNotSet = std::numeric_limits<std::size_t>::max();

bool is_slot(std::string_view name) {
  return name.size() > kSlotLength && name.starts_with(kWorkdirPrefix) && name[kSlotLength - 1] == '_' &&
         name[8] >= '0' && name[8] <= '9' && name[9] >= '0' && name[9] <= '9' && name.substr(8, 2) != "00";
}

// Reads variables, remembering which were asked for, so that the rest can be refused.
class Variables {
 public:
  explicit Variables(const EnvFile& file) : file_(&file) {}

  // nullopt when absent or empty: an empty value means the default.
  std::optional<std::string> text(const std::string& name) {
    asked_.insert(name);
    const auto found = file_->find(name);
    if (found == file_->end() || found->second.text.empty()) return std::nullopt;
    return found->second.text;
  }

  Result<bool> flag(const std::string& name, bool fallback) {
    const auto value = text(name);
    if (!value) return fallback;
    const auto lowered = lower_ascii(*value);
    if (lowered == "true" || lowered == "1" || lowered == "yes" || lowered == "on") return true;
    if (lowered == "false" || lowered == "0" || lowered == "no" || lowered == "off") return false;
    return refuse_variable(name, "must be true or false");
  }

  Result<std::size_t> number(const std::string& name, std::size_t fallback, std::size_t least,
                             std::size_t most) {
    const auto value = text(name);
    if (!value) return fallback;
    std::size_t parsed = 0;
    const auto end = value->data() + value->size();
    const auto result = std::from_chars(value->data(), end, parsed);
    if (result.ec != std::errc{} || result.ptr != end || parsed < least || parsed > most) {
      return refuse_variable(
          name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return parsed;
  }

  // At least one.
  Result<std::chrono::seconds> seconds(const std::string& name, std::chrono::seconds fallback,
                                       std::chrono::seconds most) {
    RB_TRY(const auto count, number(name, static_cast<std::size_t>(fallback.count()), 1,
                                    static_cast<std::size_t>(most.count())));
    return std::chrono::seconds(count);
  }

  // Separated by commas; empty elements are refused.
  Result<std::vector<std::string>> list(const std::string& name) {
    std::vector<std::string> values;
    const auto value = text(name);
    if (!value) return values;
    for (const auto& element : split(*value, ',')) {
      const auto trimmed_element = trimmed(element);
      if (trimmed_element.empty()) return refuse_variable(name, "has an empty element between commas");
      values.emplace_back(trimmed_element);
    }
    return values;
  }

  [[nodiscard]] Result<void> nothing_else(const std::set<std::string>& slots) const {
    for (const auto& [name, value] : *file_) {
      const bool unused_slot = is_slot(name) && !slots.contains(name.substr(0, kSlotLength));
      if (!asked_.contains(name) && !unused_slot) return refuse_unknown(name);
    }
    return {};
  }

  [[nodiscard]] bool asked(const std::string& name) const { return asked_.contains(name); }
  static Failure refuse_unknown(const std::string& name) {
    return refuse_variable(name, "is not known; `repobridge init` writes an example of every setting");
  }

 private:
  const EnvFile* file_;
  std::set<std::string> asked_;
};

// Slots in which something is set. One whose values are all empty is unused, as in an example not filled in.
std::set<std::string> slots_in(const EnvFile& file) {
  std::set<std::string> slots;
  for (const auto& [name, value] : file) {
    if (is_slot(name) && !value.text.empty()) slots.insert(name.substr(0, kSlotLength));
  }
  return slots;
}

Result<PushPolicy> read_push(Variables& variables, const std::string& slot) {
  PushPolicy push;
  if (const auto url = variables.text(slot + "PUSH_URL")) {
    auto parsed = PushUrl::parse(*url);
    if (!parsed) return refuse_variable(slot + "PUSH_URL", "is refused: " + parsed.error().message);
    push.url = *std::move(parsed);
  }
  RB_TRY(push.branches, variables.list(slot + "PUSH_BRANCHES"));
  RB_TRY(push.ci_changes, variables.flag(slot + "PUSH_CI_CHANGES", false));
  RB_TRY(push.only_bridge_commits, variables.flag(slot + "PUSH_ONLY_BRIDGE_COMMITS", false));
  constexpr std::chrono::seconds kUnset{0};
  RB_TRY(const auto timeout, variables.seconds(slot + "PUSH_TIMEOUT_SECONDS", kUnset, kMaxActionTimeout));
  if (timeout != kUnset) push.timeout = timeout;
  return push;
}

bool fits_identity(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return c == '<' || c == '>' || static_cast<unsigned char>(c) < 0x20; });
}

Result<std::optional<GitIdentity>> read_identity(Variables& variables, const std::string& slot) {
  const auto name = variables.text(slot + "GIT_USER_NAME");
  const auto email = variables.text(slot + "GIT_USER_EMAIL");
  if (!name && !email) return std::nullopt;
  if (!name || !email) {
    return refuse_variable(slot + (name ? "GIT_USER_EMAIL" : "GIT_USER_NAME"),
                           "is missing; name and e-mail are set together or not at all");
  }
  if (!fits_identity(*name)) return refuse_variable(slot + "GIT_USER_NAME", "must not hold < or >");
  if (!fits_identity(*email)) return refuse_variable(slot + "GIT_USER_EMAIL", "must not hold < or >");
  return GitIdentity{.name = *name, .email = *email};
}

Result<void> read_actions(Variables& variables, WorkdirSettings& workdir) {
  workdir.actions_json = variables.text(workdir.slot + "REPO_ACTIONS_JSON");
  workdir.actions_file = variables.text(workdir.slot + "REPO_ACTIONS_FILE");
  if (workdir.actions_json && workdir.actions_file) {
    return refuse_variable(workdir.slot + "REPO_ACTIONS_FILE",
                           "and _REPO_ACTIONS_JSON are both set; keep one of them");
  }
  if ((workdir.actions_json || workdir.actions_file) && workdir.read_only) {
    return refuse_variable(workdir.slot + "READ_ONLY", "must be false for a workdir that has actions");
  }
  return {};
}

Result<WorkdirSettings> read_workdir(Variables& variables, const std::string& slot) {
  WorkdirSettings workdir{.slot = slot};
  workdir.alias = variables.text(slot + "ALIAS").value_or("");
  if (workdir.alias.empty()) return refuse_variable(slot + "ALIAS", "is missing");
  if (!is_alias(workdir.alias)) {
    return refuse_variable(slot + "ALIAS",
                           "must be a letter followed by at most 31 letters, digits, '_' and '-'");
  }
  workdir.path = variables.text(slot + "PATH").value_or("");
  if (workdir.path.empty()) return refuse_variable(slot + "PATH", "is missing");
  if (!workdir.path.starts_with('/')) return refuse_variable(slot + "PATH", "must be an absolute path");
  workdir.description = variables.text(slot + "DESCRIPTION").value_or("");
  if (workdir.description.size() > kMaxDescriptionBytes) {
    return refuse_variable(slot + "DESCRIPTION", "has more than 1024 bytes");
  }
  RB_TRY(workdir.read_only, variables.flag(slot + "READ_ONLY", true));
  RB_TRY(workdir.repo_ops_enabled, variables.flag(slot + "REPO_OPS_ENABLED", false));
  RB_TRY(workdir.rules.allow_hidden, variables.flag(slot + "ALLOW_HIDDEN", false));
  RB_TRY(workdir.rules.disable_default_deny, variables.flag(slot + "DISABLE_DEFAULT_DENY", false));
  RB_TRY(workdir.rules.extra_deny_globs, variables.list(slot + "EXTRA_DENY_GLOBS"));
  if (const auto rules = PathRules::make(workdir.rules); !rules) {
    return refuse_variable(slot + "EXTRA_DENY_GLOBS", rules.error().message);
  }
  RB_CHECK(read_actions(variables, workdir));
  RB_TRY(workdir.push, read_push(variables, slot));
  RB_TRY(workdir.identity, read_identity(variables, slot));
  constexpr std::size_t kLongestWait = Workdir::kLongestLeaseWait.count();
  RB_TRY(const auto wait, variables.number(slot + "LEASE_WAIT_SECONDS", 0, 0, kLongestWait));
  workdir.lease_wait = std::chrono::seconds(wait);
  return workdir;
}

// An unused slot is not read, but a name that no slot has is as wrong there. Reading a whole slot asks for
// all.
Result<void> check_unused_slots(const EnvFile& file, const std::set<std::string>& used) {
  const std::string slot = "WORKDIR_01_";
  const EnvFile whole{{slot + "ALIAS", EnvValue{.text = "a"}}, {slot + "PATH", EnvValue{.text = "/"}}};
  Variables variables(whole);
  RB_CHECK(read_workdir(variables, slot).map([](const auto&) {}));
  for (const auto& [name, value] : file) {
    const bool unused_slot = is_slot(name) && !used.contains(name.substr(0, kSlotLength));
    if (unused_slot && !variables.asked(slot + name.substr(kSlotLength))) {
      return Variables::refuse_unknown(name);
    }
  }
  return {};
}

Result<std::vector<PushAllowance>> read_push_allowed(Variables& variables) {
  std::vector<PushAllowance> allowed;
  RB_TRY(const auto prefixes, variables.list("REPOBRIDGE_PUSH_ALLOWED"));
  for (const auto& prefix : prefixes) {
    auto allowance = PushAllowance::parse(prefix);
    if (!allowance) return refuse_variable("REPOBRIDGE_PUSH_ALLOWED", allowance.error().message);
    allowed.push_back(*std::move(allowance));
  }
  return allowed;
}

Result<Limits> read_limits(Variables& variables) {
  Limits limits;
  if (const auto detection = variables.text("SECRET_DETECTION_MODE")) {
    auto parsed = parse_secret_detection(*detection);
    if (!parsed) return refuse_variable("SECRET_DETECTION_MODE", "must be mask, block or off");
    limits.secret_detection = *parsed;
  }
  RB_TRY(limits.max_response_items,
         variables.number("MAX_TOOL_RESPONSE_ITEMS", limits.max_response_items, 1, Limits::kMostItems));
  RB_TRY(limits.max_response_chars, variables.number("MAX_TOOL_RESPONSE_CHARS", limits.max_response_chars,
                                                     Limits::kLeastChars, Limits::kMostChars));
  return limits;
}

Result<void> check_directories(const Settings& settings) {
  const std::array<std::pair<const char*, const std::optional<std::string>*>, 4> paths{
      {{"REPOBRIDGE_SOCKET_PATH", &settings.socket_path},
       {"REPOBRIDGE_KEY_FILE", &settings.key_file},
       {"REPOBRIDGE_STATE_DIR", &settings.state_dir},
       {"REPOBRIDGE_LOCK_DIR", &settings.lock_dir}}};
  for (const auto& [name, path] : paths) {
    if (*path && !(*path)->starts_with('/')) return refuse_variable(name, "must be an absolute path");
  }
  return {};
}

Result<RunLimits> read_run_limits(Variables& variables) {
  RunLimits runs;
  constexpr auto kMost = RunLimits::kMostAtOnce;
  RB_TRY(runs.call_wait,
         variables.seconds("REPOBRIDGE_CALL_WAIT_SECONDS", runs.call_wait, RunLimits::kLongestWait));
  RB_TRY(runs.longest, variables.seconds("REPOBRIDGE_MAX_RUN_SECONDS", runs.longest, kMaxActionTimeout));
  RB_TRY(runs.at_once, variables.number("REPOBRIDGE_MAX_RUNS", runs.at_once, 1, kMost));
  RB_TRY(runs.at_once_per_caller,
         variables.number("REPOBRIDGE_MAX_RUNS_PER_CALLER", runs.at_once_per_caller, 1, kMost));
  RB_TRY(runs.calls_per_minute,
         variables.number("REPOBRIDGE_CALLS_PER_MINUTE", runs.calls_per_minute, 1, RunLimits::kMostCalls));
  RB_TRY(runs.calls_per_minute_per_caller,
         variables.number("REPOBRIDGE_CALLS_PER_MINUTE_PER_CALLER", runs.calls_per_minute_per_caller, 1,
                          RunLimits::kMostCalls));
  return runs;
}

Result<std::vector<std::string>> read_hosts(Variables& variables) {
  RB_TRY(auto hosts, variables.list("REPOBRIDGE_FRONT_ALLOWED_HOSTS"));
  for (auto& host : hosts) {
    host = lower_ascii(host);
    if (!is_host_name(host)) {
      return refuse_variable("REPOBRIDGE_FRONT_ALLOWED_HOSTS",
                             "must list names or addresses, without scheme and port");
    }
  }
  return hosts;
}

Result<std::vector<std::string>> read_origins(Variables& variables) {
  RB_TRY(auto origins, variables.list("REPOBRIDGE_FRONT_ALLOWED_ORIGINS"));
  for (auto& origin : origins) {
    origin = lower_ascii(origin);
    if (!is_origin(origin)) {
      return refuse_variable("REPOBRIDGE_FRONT_ALLOWED_ORIGINS",
                             "must list origins such as https://app.example.org");
    }
  }
  return origins;
}

// "name=/path" each.
Result<void> add_tokens(Variables& variables, const std::string& name, bool read_only,
                        std::vector<BearerToken>& tokens) {
  RB_TRY(const auto listed, variables.list(name));
  for (const auto& one : listed) {
    const auto equals = one.find('=');
    BearerToken token{.name = one.substr(0, equals), .read_only = read_only};
    if (equals != std::string::npos) token.file = one.substr(equals + 1);
    if (!is_token_name(token.name) || !token.file.starts_with('/')) {
      return refuse_variable(name,
                             "must list NAME=/absolute/path; a name has letters, digits, '.', '_', '-'");
    }
    const bool twice =
        std::ranges::any_of(tokens, [&](const auto& other) { return other.name == token.name; });
    if (twice) return refuse_variable(name, "names a token that is named already");
    tokens.push_back(std::move(token));
  }
  return {};
}

Result<std::optional<TlsFiles>> read_tls(Variables& variables) {
  const auto certificate = variables.text("REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE");
  const auto key = variables.text("REPOBRIDGE_FRONT_TLS_KEY_FILE");
  if (!certificate && !key) return std::nullopt;
  for (const auto& [name, path] : {std::pair("REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE", &certificate),
                                   std::pair("REPOBRIDGE_FRONT_TLS_KEY_FILE", &key)}) {
    if (!*path)
      return refuse_variable(name, "is missing; certificate and key are set together or not at all");
    if (!(*path)->starts_with('/')) return refuse_variable(name, "must be an absolute path");
  }
  return TlsFiles{.certificate = *certificate, .key = *key};
}

Result<HttpLimits> read_http_limits(Variables& variables) {
  HttpLimits limits;
  constexpr auto kLongest = HttpLimits::kLongest;
  RB_TRY(limits.connections, variables.number("REPOBRIDGE_FRONT_MAX_CONNECTIONS", limits.connections, 1,
                                              HttpLimits::kMostConnections));
  RB_TRY(limits.calls_at_once_per_caller,
         variables.number("REPOBRIDGE_FRONT_MAX_CALLS_PER_CALLER", limits.calls_at_once_per_caller, 1,
                          HttpLimits::kMostCallsAtOnce));
  RB_TRY(limits.read, variables.seconds("REPOBRIDGE_FRONT_READ_SECONDS", limits.read, kLongest));
  RB_TRY(limits.write, variables.seconds("REPOBRIDGE_FRONT_WRITE_SECONDS", limits.write, kLongest));
  RB_TRY(limits.idle, variables.seconds("REPOBRIDGE_FRONT_IDLE_SECONDS", limits.idle, kLongest));
  RB_TRY(limits.keepalive,
         variables.seconds("REPOBRIDGE_FRONT_KEEPALIVE_SECONDS", limits.keepalive, kLongest));
  return limits;
}

Result<HttpPolicy> read_http(Variables& variables) {
  HttpPolicy http;
  RB_TRY(http.allowed_hosts, read_hosts(variables));
  RB_TRY(http.allowed_origins, read_origins(variables));
  RB_TRY(http.allow_non_loopback, variables.flag("REPOBRIDGE_FRONT_ALLOW_NON_LOOPBACK", false));
  RB_TRY(http.allow_unauthenticated, variables.flag("REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED", false));
  RB_CHECK(add_tokens(variables, "REPOBRIDGE_FRONT_TOKEN_FILES", false, http.tokens));
  RB_CHECK(add_tokens(variables, "REPOBRIDGE_FRONT_READ_ONLY_TOKEN_FILES", true, http.tokens));
  RB_TRY(http.tls, read_tls(variables));
  RB_TRY(http.limits, read_http_limits(variables));
  return http;
}

// Whole or absent: half of it would be a door that its administrator believes shut, or open.
Result<std::optional<OauthPolicy>> read_oauth(Variables& variables) {
  OauthPolicy oauth;
  bool any = false;
  const auto read = [&any](const std::optional<std::string>& value, std::string& into) {
    any = any || value.has_value();
    if (value) into = *value;
  };
  read(variables.text("REPOBRIDGE_OAUTH_ISSUER"), oauth.issuer);
  read(variables.text("REPOBRIDGE_OAUTH_RESOURCE"), oauth.resource);
  read(variables.text("REPOBRIDGE_OAUTH_JWKS_URL"), oauth.jwks_url);
  read(variables.text("REPOBRIDGE_OAUTH_JWKS_FILE"), oauth.jwks_file);
  read(variables.text("REPOBRIDGE_OAUTH_JWKS_CA_FILE"), oauth.jwks_ca_file);
  read(variables.text("REPOBRIDGE_OAUTH_LOGIN_CLAIM"), oauth.login_claim);
  RB_TRY(auto algorithms, variables.list("REPOBRIDGE_OAUTH_ALGORITHMS"));
  RB_TRY(oauth.allowed_subjects, variables.list("REPOBRIDGE_OAUTH_ALLOWED_SUBJECTS"));
  RB_TRY(const auto leeway, variables.number("REPOBRIDGE_OAUTH_LEEWAY_SECONDS", kNotSet, 0,
                                             static_cast<std::size_t>(OauthPolicy::kMostLeeway.count())));
  any = any || !algorithms.empty() || !oauth.allowed_subjects.empty() || leeway != kNotSet;
  if (!any) return std::nullopt;
  if (!algorithms.empty()) oauth.algorithms = std::move(algorithms);
  if (leeway != kNotSet) oauth.leeway = std::chrono::seconds(leeway);
  if (const auto fault = fault_of(oauth))
    return refuse_variable(oauth_variable(fault->field), fault->problem);
  return oauth;
}

// What an action or a push may take is part of what any run may take.
Result<void> check_push_timeouts(const Settings& settings) {
  for (const auto& workdir : settings.workdirs) {
    if (!workdir.push.timeout || *workdir.push.timeout <= settings.runs.longest) continue;
    return refuse_variable(workdir.slot + "PUSH_TIMEOUT_SECONDS",
                           "is more than REPOBRIDGE_MAX_RUN_SECONDS allows (" +
                               std::to_string(settings.runs.longest.count()) + ")");
  }
  return {};
}

Result<void> check_aliases(const std::vector<WorkdirSettings>& workdirs) {
  std::set<std::string> aliases;
  for (const auto& workdir : workdirs) {
    if (!aliases.insert(workdir.alias).second) {
      return refuse_variable(workdir.slot + "ALIAS", "is the alias of another workdir too");
    }
  }
  return {};
}

}  // namespace

Failure refuse_variable(const std::string& variable, std::string_view problem) {
  return refuse(codes::kConfigInvalidSetting, variable + " " + std::string(problem),
                Json{{"variable", variable}});
}

std::string oauth_variable(std::string_view field) {
  std::string name = "REPOBRIDGE_OAUTH_";
  for (const char c : field) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

Result<Settings> read_settings(const EnvFile& file) {
  Variables variables(file);
  Settings settings;
  settings.socket_path = variables.text("REPOBRIDGE_SOCKET_PATH");
  settings.key_file = variables.text("REPOBRIDGE_KEY_FILE");
  settings.state_dir = variables.text("REPOBRIDGE_STATE_DIR");
  settings.lock_dir = variables.text("REPOBRIDGE_LOCK_DIR");
  RB_CHECK(check_directories(settings));
  RB_TRY(settings.push_allowed, read_push_allowed(variables));
  RB_TRY(settings.allow_unsandboxed_git, variables.flag("REPOBRIDGE_ALLOW_UNSANDBOXED_GIT", false));
  RB_TRY(settings.limits, read_limits(variables));
  RB_TRY(settings.runs, read_run_limits(variables));
  RB_TRY(settings.http, read_http(variables));
  RB_TRY(settings.oauth, read_oauth(variables));
  const auto slots = slots_in(file);
  for (const auto& slot : slots) {
    RB_TRY(auto workdir, read_workdir(variables, slot));
    settings.workdirs.push_back(std::move(workdir));
  }
  RB_CHECK(variables.nothing_else(slots));
  RB_CHECK(check_unused_slots(file, slots));
  RB_CHECK(check_aliases(settings.workdirs));
  RB_CHECK(check_push_timeouts(settings));
  return settings;
}

}  // namespace repobridge::policy
