#include "policy/actions.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "policy/text.h"

namespace repobridge::policy {
namespace {

constexpr std::size_t kMaxActions = 64;
constexpr std::size_t kMaxArguments = 256;
constexpr std::size_t kMaxArgumentBytes = 32768;
constexpr std::size_t kMaxArgvBytes = 131072;
constexpr std::size_t kMaxDescriptionBytes = 1024;
constexpr std::int64_t kDefaultOutputBytes = 1 << 20;
constexpr std::int64_t kMaxOutputBytes = 16 << 20;

bool is_action_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest &&
         std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
         std::ranges::all_of(
             name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
}

Result<std::vector<std::string>> read_argv(Fields& fields) {
  RB_TRY(auto argv, fields.texts("argv"));
  if (argv.empty() || argv.front().empty()) return fields.refuse_field("argv", "must begin with a program");
  std::size_t total = 0;
  for (const auto& argument : argv) {
    if (argument.find('\0') != std::string::npos || argument.size() > kMaxArgumentBytes) {
      return fields.refuse_field("argv", "has an element with a NUL or with more than 32768 bytes");
    }
    total += argument.size() + 1;
  }
  if (argv.size() > kMaxArguments || total > kMaxArgvBytes) {
    return fields.refuse_field("argv", "has more than 256 elements or 131072 bytes");
  }
  return argv;
}

Result<ActionArgument> read_argument(Fields& fields) {
  RB_TRY(const auto text, fields.optional_text("argument"));
  if (!text || *text == "none") return ActionArgument::none;
  if (*text == "path") return ActionArgument::path;
  return fields.refuse_field("argument", "must be none or path");
}

bool is_variable_name(std::string_view name) {
  constexpr std::size_t kLongest = 256;
  return !name.empty() && name.size() <= kLongest &&
         std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// What an action's environment may not say: what the bridge itself settles there, what is its own, and what
// changes how every program is loaded. Of git's only who an author is.
bool is_reserved_variable(std::string_view name) {
  if (name.starts_with("GIT_AUTHOR_") || name.starts_with("GIT_COMMITTER_")) return false;
  return name == "PATH" || name == "RB_RUN_ID" || name == "GLIBC_TUNABLES" || name.starts_with("GIT_") ||
         name.starts_with("LD_") || name.starts_with("REPOBRIDGE_");
}

Result<void> check_variable_name(const Fields& fields, std::string_view field, std::string_view name) {
  if (!is_variable_name(name)) {
    return fields.refuse_field(field,
                               "has a name that is not letters, digits and '_', beginning with no digit");
  }
  if (is_reserved_variable(name)) {
    return fields.refuse_field(field,
                               "names a variable that no action may set: PATH, RB_RUN_ID, GLIBC_TUNABLES, "
                               "LD_…, REPOBRIDGE_…, or GIT_… but GIT_AUTHOR_… and GIT_COMMITTER_…");
  }
  return {};
}

Result<std::map<std::string, std::string>> read_env(Fields& fields) {
  std::map<std::string, std::string> env;
  const Json* value = fields.any("env");
  if (value == nullptr) return env;
  if (!value->is_object()) return fields.refuse_field("env", "must be an object of strings");
  std::size_t total = 0;
  for (const auto& [name, text] : value->items()) {
    RB_CHECK(check_variable_name(fields, "env", name));
    if (!text.is_string()) return fields.refuse_field("env", "must be an object of strings");
    env[name] = text.get<std::string>();
    const std::size_t size = name.size() + env[name].size() + 2;
    total += size;
    if (env[name].find('\0') != std::string::npos || size > kMaxVariableBytes) {
      return fields.refuse_field("env", "has a value with a NUL or with more than 32768 bytes");
    }
  }
  if (total > kMaxEnvironmentBytes) return fields.refuse_field("env", "has more than 131072 bytes");
  return env;
}

Result<std::vector<std::string>> read_env_passthrough(Fields& fields,
                                                      const std::map<std::string, std::string>& env) {
  constexpr std::size_t kMost = 256;
  RB_TRY(auto names, fields.optional_texts("env_passthrough"));
  if (names.size() > kMost) return fields.refuse_field("env_passthrough", "has more than 256 names");
  for (const auto& name : names) {
    RB_CHECK(check_variable_name(fields, "env_passthrough", name));
    if (env.contains(name) || std::ranges::count(names, name) > 1) {
      return fields.refuse_field("env_passthrough", "has a name twice, or one that env sets");
    }
  }
  return names;
}

Result<Action> read_action(const std::string& name, const Json& value, const std::string& variable,
                           Digests digests) {
  RB_TRY(auto fields, Fields::of(value, name, codes::kConfigInvalidSetting, variable + ": "));
  Action action{.name = name};
  RB_TRY(const auto kind, fields.optional_text("kind"));
  if (kind && *kind != "command") return fields.refuse_field("kind", "must be command");
  RB_TRY(action.argv, read_argv(fields));
  RB_TRY(action.argument, read_argument(fields));
  if (fields.any("mutates") == nullptr) return fields.refuse_field("mutates", "is missing");
  RB_TRY(action.mutates, fields.flag("mutates", true));
  RB_TRY(action.integrity, read_pins(fields, variable, digests));
  if (fields.any("timeout_seconds") != nullptr) {
    RB_TRY(const auto seconds, fields.number("timeout_seconds", 1, kMaxActionTimeout.count()));
    action.timeout = std::chrono::seconds(seconds);
  }
  RB_TRY(const auto output, fields.number_or("max_output_bytes", kDefaultOutputBytes, 1, kMaxOutputBytes));
  action.max_output_bytes = static_cast<std::size_t>(output);
  RB_TRY(action.isolation, read_isolation(fields));
  RB_TRY(action.description, fields.optional_text("description"));
  if (action.description && action.description->size() > kMaxDescriptionBytes) {
    return fields.refuse_field("description", "has more than 1024 bytes");
  }
  RB_TRY(action.env, read_env(fields));
  RB_TRY(action.env_passthrough, read_env_passthrough(fields, action.env));
  RB_CHECK(fields.nothing_else());
  return action;
}

}  // namespace

std::string_view name_of(ActionArgument argument) {
  switch (argument) {
    case ActionArgument::none:
      return "none";
    case ActionArgument::path:
      return "path";
  }
  std::abort();
}

Result<Actions> parse_actions(std::string_view text, const std::string& variable, Digests digests) {
  const auto value = parse_json(text);
  if (!value) {
    return refuse(codes::kConfigInvalidSetting, variable + ": " + value.error().what + " (at byte " +
                                                    std::to_string(value.error().at_byte) + ")");
  }
  return actions_from_json(*value, variable, digests);
}

Result<Actions> actions_from_json(const Json& value, const std::string& variable, Digests digests) {
  RB_TRY(const auto fields, Fields::of(value, "", codes::kConfigInvalidSetting, variable + ": "));
  if (value.size() > kMaxActions) return fields.refuse_field("", "names more than 64 actions");
  Actions actions;
  for (const auto& [name, definition] : value.items()) {
    if (!is_action_name(name)) {
      return fields.refuse_field(name,
                                 "must be a name of at most 64 letters, digits, '.', '_' and '-', "
                                 "beginning with a letter or digit");
    }
    RB_TRY(auto action, read_action(name, definition, variable, digests));
    actions.emplace(name, std::move(action));
  }
  return actions;
}

Json to_json(const Actions& actions) {
  Json all = Json::object();
  for (const auto& [name, action] : actions) {
    Json one{{"kind", "command"},
             {"argv", action.argv},
             {"argument", name_of(action.argument)},
             {"mutates", action.mutates},
             {"integrity", to_json(action.integrity)},
             {"max_output_bytes", action.max_output_bytes}};
    if (action.timeout) one["timeout_seconds"] = action.timeout->count();
    write_isolation(action.isolation, one);
    if (action.description) one["description"] = *action.description;
    if (!action.env.empty()) one["env"] = action.env;
    if (!action.env_passthrough.empty()) one["env_passthrough"] = action.env_passthrough;
    all[name] = std::move(one);
  }
  return all;
}

}  // namespace repobridge::policy
