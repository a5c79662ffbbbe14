#include "policy/policy.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "policy/codes.h"

namespace repobridge::policy {
namespace {

constexpr int kVersion = 1;

const Code& invalid = codes::kConfigInvalidSetting;

Json limits_to_json(const Limits& limits) {
  return Json{{"secret_detection", name_of(limits.secret_detection)},
              {"max_response_items", limits.max_response_items},
              {"max_response_chars", limits.max_response_chars}};
}

Result<Limits> limits_from_json(const Json& value) {
  RB_TRY(auto fields, Fields::of(value, "limits", invalid));
  Limits limits;
  RB_TRY(const auto detection, fields.text("secret_detection"));
  RB_TRY(limits.secret_detection, parse_secret_detection(detection));
  RB_TRY(const auto items, fields.number("max_response_items", 1, Limits::kMostItems));
  RB_TRY(const auto chars, fields.number("max_response_chars", Limits::kLeastChars, Limits::kMostChars));
  limits.max_response_items = static_cast<std::size_t>(items);
  limits.max_response_chars = static_cast<std::size_t>(chars);
  RB_CHECK(fields.nothing_else());
  return limits;
}

Json runs_to_json(const RunLimits& runs) {
  return Json{{"call_wait_seconds", runs.call_wait.count()},
              {"longest_seconds", runs.longest.count()},
              {"at_once", runs.at_once},
              {"at_once_per_caller", runs.at_once_per_caller},
              {"calls_per_minute", runs.calls_per_minute},
              {"calls_per_minute_per_caller", runs.calls_per_minute_per_caller}};
}

Result<void> read_count(Fields& fields, std::string_view name, std::size_t most, std::size_t& count) {
  RB_TRY(const auto number, fields.number(name, 1, static_cast<std::int64_t>(most)));
  count = static_cast<std::size_t>(number);
  return {};
}

Result<RunLimits> runs_from_json(const Json& value) {
  RB_TRY(auto fields, Fields::of(value, "runs", invalid));
  RunLimits runs;
  RB_TRY(const auto wait, fields.number("call_wait_seconds", 1, RunLimits::kLongestWait.count()));
  RB_TRY(const auto longest, fields.number("longest_seconds", 1, kMaxActionTimeout.count()));
  runs.call_wait = std::chrono::seconds(wait);
  runs.longest = std::chrono::seconds(longest);
  RB_CHECK(read_count(fields, "at_once", RunLimits::kMostAtOnce, runs.at_once));
  RB_CHECK(read_count(fields, "at_once_per_caller", RunLimits::kMostAtOnce, runs.at_once_per_caller));
  RB_CHECK(read_count(fields, "calls_per_minute", RunLimits::kMostCalls, runs.calls_per_minute));
  RB_CHECK(read_count(fields, "calls_per_minute_per_caller", RunLimits::kMostCalls,
                      runs.calls_per_minute_per_caller));
  RB_CHECK(fields.nothing_else());
  return runs;
}

Json front_to_json(const Front& front) {
  return Json{{"name", front.name},
              {"key_file", front.key_file},
              {"secret_files", front.secret_files},
              {"workdirs", front.workdirs},
              {"read_only", front.read_only}};
}

Result<Front> front_from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, invalid));
  Front front;
  RB_TRY(front.name, fields.text("name"));
  RB_TRY(front.key_file, fields.text("key_file"));
  RB_TRY(front.secret_files, fields.optional_texts("secret_files"));
  RB_TRY(front.workdirs, fields.texts("workdirs"));
  RB_TRY(front.read_only, fields.flag("read_only", true));
  RB_CHECK(fields.nothing_else());
  return front;
}

Json push_to_json(const PushPolicy& push) {
  return Json{{"url", push.url ? Json(push.url->text()) : Json()},
              {"branches", push.branches},
              {"ci_changes", push.ci_changes},
              {"only_bridge_commits", push.only_bridge_commits},
              {"timeout_seconds", push.timeout ? Json(push.timeout->count()) : Json()}};
}

Result<PushPolicy> push_from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, invalid));
  PushPolicy push;
  const Json* url = fields.any("url");
  if (url == nullptr || !(url->is_null() || url->is_string())) {
    return fields.refuse_field("url", "must be a string or null");
  }
  if (url->is_string()) {
    auto parsed = PushUrl::parse(url->get<std::string>());
    if (!parsed) return fields.refuse_field("url", "is refused: " + parsed.error().message);
    push.url = *std::move(parsed);
  }
  RB_TRY(push.branches, fields.texts("branches"));
  RB_TRY(push.ci_changes, fields.flag("ci_changes", false));
  RB_TRY(push.only_bridge_commits, fields.flag("only_bridge_commits", false));
  if (const Json* timeout = fields.any("timeout_seconds"); timeout == nullptr || !timeout->is_null()) {
    RB_TRY(const auto seconds, fields.number("timeout_seconds", 1, kMaxActionTimeout.count()));
    push.timeout = std::chrono::seconds(seconds);
  }
  RB_CHECK(fields.nothing_else());
  return push;
}

Json identity_to_json(const std::optional<GitIdentity>& identity) {
  if (!identity) return nullptr;
  return Json{{"name", identity->name}, {"email", identity->email}};
}

Result<std::optional<GitIdentity>> identity_from_json(const Json* value, const std::string& where) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  RB_TRY(auto fields, Fields::of(*value, where, invalid));
  GitIdentity identity;
  RB_TRY(identity.name, fields.text("name"));
  RB_TRY(identity.email, fields.text("email"));
  RB_CHECK(fields.nothing_else());
  return identity;
}

Json workdir_to_json(const Workdir& workdir) {
  return Json{{"alias", workdir.alias},
              {"description", workdir.description},
              {"read_only", workdir.read_only},
              {"rules", workdir.rules.to_json()},
              {"path", workdir.path},
              {"actions", to_json(workdir.actions)},
              {"push", push_to_json(workdir.push)},
              {"identity", identity_to_json(workdir.identity)},
              {"lease_wait_seconds", workdir.lease_wait.count()}};
}

Result<std::string> alias_of(Fields& fields) {
  RB_TRY(auto alias, fields.text("alias"));
  if (!is_alias(alias)) return fields.refuse_field("alias", "is no alias");
  return alias;
}

Result<PathRules> rules_of(Fields& fields) {
  const Json* rules = fields.any("rules");
  if (rules == nullptr) return fields.refuse_field("rules", "is missing");
  return PathRules::from_json(*rules, fields.path_of("rules"));
}

Result<Workdir> workdir_from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, invalid));
  Workdir workdir;
  RB_TRY(workdir.alias, alias_of(fields));
  RB_TRY(workdir.description, fields.text("description"));
  RB_TRY(workdir.read_only, fields.flag("read_only", true));
  RB_TRY(workdir.rules, rules_of(fields));
  RB_TRY(workdir.path, fields.text("path"));
  const Json* actions = fields.any("actions");
  if (actions == nullptr) return fields.refuse_field("actions", "is missing");
  RB_TRY(workdir.actions, actions_from_json(*actions, fields.path_of("actions"), Digests::required));
  const Json* push = fields.any("push");
  if (push == nullptr) return fields.refuse_field("push", "is missing");
  RB_TRY(workdir.push, push_from_json(*push, fields.path_of("push")));
  RB_TRY(workdir.identity, identity_from_json(fields.any("identity"), fields.path_of("identity")));
  RB_TRY(const auto wait, fields.number_or("lease_wait_seconds", 0, 0, Workdir::kLongestLeaseWait.count()));
  workdir.lease_wait = std::chrono::seconds(wait);
  RB_CHECK(fields.nothing_else());
  return workdir;
}

Result<FrontWorkdir> front_workdir_from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, invalid));
  FrontWorkdir workdir;
  RB_TRY(workdir.alias, alias_of(fields));
  RB_TRY(workdir.description, fields.text("description"));
  RB_TRY(workdir.read_only, fields.flag("read_only", true));
  RB_TRY(workdir.rules, rules_of(fields));
  RB_CHECK(fields.nothing_else());
  return workdir;
}

Result<BridgeAddress> address_from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, invalid));
  BridgeAddress address;
  RB_TRY(address.name, fields.text("name"));
  RB_TRY(address.socket_path, fields.text("socket_path"));
  RB_TRY(address.key_name, fields.text("key_name"));
  RB_TRY(address.key_file, fields.text("key_file"));
  RB_CHECK(fields.nothing_else());
  return address;
}

// An array field, each element read by `read` with its own JSON path.
template <class T>
Result<std::vector<T>> read_list(Fields& fields, std::string_view name,
                                 Result<T> (*read)(const Json&, const std::string&)) {
  const Json* list = fields.any(name);
  if (list == nullptr || !list->is_array()) return fields.refuse_field(name, "must be an array");
  std::vector<T> values;
  for (const Json& item : *list) {
    RB_TRY(auto value, read(item, fields.path_of(name) + "[" + std::to_string(values.size()) + "]"));
    values.push_back(std::move(value));
  }
  return values;
}

template <class W>
Result<std::map<std::string, W, std::less<>>> by_alias(std::vector<W> list, const Fields& fields) {
  std::map<std::string, W, std::less<>> map;
  for (auto& workdir : list) {
    const std::string alias = workdir.alias;
    if (!map.emplace(alias, std::move(workdir)).second) {
      return fields.refuse_field("workdirs", "has the same alias twice");
    }
  }
  return map;
}

Json bridge_without_digest(const BridgePolicy& policy) {
  Json fronts = Json::array();
  for (const auto& front : policy.fronts) fronts.push_back(front_to_json(front));
  Json push_allowed = Json::array();
  for (const auto& allowance : policy.push_allowed) push_allowed.push_back(allowance.text());
  Json workdirs = Json::array();
  for (const auto& [alias, workdir] : policy.workdirs) workdirs.push_back(workdir_to_json(workdir));
  return Json{{"version", kVersion},
              {"socket_path", policy.socket_path},
              {"state_dir", policy.state_dir},
              {"lock_dir", policy.lock_dir},
              {"limits", limits_to_json(policy.limits)},
              {"runs", runs_to_json(policy.runs)},
              {"fronts", std::move(fronts)},
              {"push_allowed", std::move(push_allowed)},
              {"allow_unsandboxed_git", policy.allow_unsandboxed_git},
              {"workdirs", std::move(workdirs)}};
}

Result<Fields> document(const Json& value) {
  RB_TRY(auto fields, Fields::of(value, "", invalid));
  RB_CHECK(fields.number("version", kVersion, kVersion).map([](auto) {}));
  return fields;
}

Result<Limits> limits_of(Fields& fields) {
  const Json* limits = fields.any("limits");
  if (limits == nullptr) return fields.refuse_field("limits", "is missing");
  return limits_from_json(*limits);
}

}  // namespace

std::string digest_input(const BridgePolicy& policy) { return dump_json(bridge_without_digest(policy)); }

Json to_json(const BridgePolicy& policy) {
  Json value = bridge_without_digest(policy);
  value["digest"] = policy.digest;
  return value;
}

Json to_json(const FrontPolicy& policy) {
  Json workdirs = Json::array();
  for (const auto& [alias, workdir] : policy.workdirs) {
    workdirs.push_back(Json{{"alias", alias},
                            {"description", workdir.description},
                            {"read_only", workdir.read_only},
                            {"rules", workdir.rules.to_json()}});
  }
  const auto& bridge = policy.bridge;
  Json address{{"name", bridge.name},
               {"socket_path", bridge.socket_path},
               {"key_name", bridge.key_name},
               {"key_file", bridge.key_file}};
  return Json{{"version", kVersion},
              {"digest", policy.digest},
              {"bridges", Json::array({std::move(address)})},
              {"limits", limits_to_json(policy.limits)},
              {"http", to_json(policy.http)},
              {"workdirs", std::move(workdirs)},
              {"oauth", policy.oauth ? to_json(*policy.oauth) : Json()}};
}

Result<BridgePolicy> bridge_policy_from_json(const Json& value) {
  RB_TRY(auto fields, document(value));
  BridgePolicy policy;
  RB_TRY(policy.digest, fields.text("digest"));
  RB_TRY(policy.socket_path, fields.text("socket_path"));
  RB_TRY(policy.state_dir, fields.text("state_dir"));
  RB_TRY(policy.lock_dir, fields.text("lock_dir"));
  RB_TRY(policy.limits, limits_of(fields));
  const Json* runs = fields.any("runs");
  if (runs == nullptr) return fields.refuse_field("runs", "is missing");
  RB_TRY(policy.runs, runs_from_json(*runs));
  RB_TRY(policy.fronts, read_list(fields, "fronts", front_from_json));
  RB_TRY(const auto prefixes, fields.texts("push_allowed"));
  for (const auto& prefix : prefixes) {
    auto allowance = PushAllowance::parse(prefix);
    if (!allowance) return fields.refuse_field("push_allowed", "is refused: " + allowance.error().message);
    policy.push_allowed.push_back(*std::move(allowance));
  }
  RB_TRY(policy.allow_unsandboxed_git, fields.flag("allow_unsandboxed_git", false));
  RB_TRY(auto workdirs, read_list(fields, "workdirs", workdir_from_json));
  RB_TRY(policy.workdirs, by_alias(std::move(workdirs), fields));
  RB_CHECK(fields.nothing_else());
  return policy;
}

Result<FrontPolicy> front_policy_from_json(const Json& value) {
  RB_TRY(auto fields, document(value));
  FrontPolicy policy;
  RB_TRY(policy.digest, fields.text("digest"));
  RB_TRY(auto bridges, read_list(fields, "bridges", address_from_json));
  if (bridges.size() != 1) return fields.refuse_field("bridges", "must name exactly one bridge");
  policy.bridge = std::move(bridges.front());
  RB_TRY(policy.limits, limits_of(fields));
  if (const Json* http = fields.any("http")) {
    RB_TRY(policy.http, http_policy_from_json(*http, "http"));
  }
  RB_TRY(auto workdirs, read_list(fields, "workdirs", front_workdir_from_json));
  RB_TRY(policy.workdirs, by_alias(std::move(workdirs), fields));
  if (const Json* oauth = fields.any("oauth"); oauth != nullptr && !oauth->is_null()) {
    RB_TRY(policy.oauth, oauth_from_json(*oauth));
  }
  RB_CHECK(fields.nothing_else());
  return policy;
}

FrontPolicy front_side(const BridgePolicy& policy, const Front& front) {
  FrontPolicy side{.digest = policy.digest,
                   .bridge = {.name = "local",
                              .socket_path = policy.socket_path,
                              .key_name = front.name,
                              .key_file = front.key_file},
                   .limits = policy.limits,
                   .http = {},
                   .workdirs = {}};
  for (const auto& [alias, workdir] : policy.workdirs) {
    const bool granted =
        front.workdirs.empty() || std::ranges::find(front.workdirs, alias) != front.workdirs.end();
    if (!granted) continue;
    side.workdirs.emplace(alias, FrontWorkdir{.alias = alias,
                                              .description = workdir.description,
                                              .read_only = workdir.read_only || front.read_only,
                                              .rules = workdir.rules});
  }
  return side;
}

Result<SecretDetection> parse_secret_detection(std::string_view text) {
  for (const auto detection : {SecretDetection::mask, SecretDetection::block, SecretDetection::off}) {
    if (text == name_of(detection)) return detection;
  }
  return refuse(invalid, "secret detection must be mask, block or off");
}

std::string_view name_of(SecretDetection detection) {
  switch (detection) {
    case SecretDetection::mask:
      return "mask";
    case SecretDetection::block:
      return "block";
    case SecretDetection::off:
      return "off";
  }
  std::abort();
}

bool is_alias(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  return !text.empty() && text.size() <= kLongest &&
         std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

}  // namespace repobridge::policy
