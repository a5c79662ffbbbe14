// Approved actions: what run_repo_action may start, and the digests of what that reads.
//
// Promise: an Action holds a fixed argument vector, a non-empty map of pins and limits within bounds;
// anything else was refused. Nothing here touches a file: resolving argv[0] and comparing digests is for
// others. Errors: CONFIG_INVALID with the variable and the JSON path. Units: seconds, bytes. Source:
// docs/POLICY.md, "Actions".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/isolation.h"
#include "policy/json.h"
#include "policy/pins.h"

namespace repobridge::policy {

// What nobody may allow more of; how long a run may take is RunLimits' (policy/policy.h).
inline constexpr std::chrono::seconds kMaxActionTimeout{86400};
// What an action may add to its environment, in bytes: all of it, and one variable. With argv's own bound
// that is far from what a kernel takes (128 KiB for one string, 2 MiB for all).
inline constexpr std::size_t kMaxEnvironmentBytes = 131072;
inline constexpr std::size_t kMaxVariableBytes = 32768;

enum class ActionArgument : std::uint8_t { none, path };

struct Action {
  std::string name;
  std::vector<std::string> argv;
  ActionArgument argument = ActionArgument::none;
  bool mutates = true;
  Pins integrity;                               // not empty
  std::optional<std::chrono::seconds> timeout;  // absent: as long as any run may take
  std::size_t max_output_bytes = 0;             // per stream
  Isolation isolation;
  std::optional<std::string> description;
  std::map<std::string, std::string> env;    // beside what every action gets
  std::vector<std::string> env_passthrough;  // names, of the bridge's own environment
};

using Actions = std::map<std::string, Action, std::less<>>;

// `variable` is what errors name: the variable or file the text came from.
Result<Actions> parse_actions(std::string_view text, const std::string& variable, Digests digests);

Result<Actions> actions_from_json(const Json& value, const std::string& variable, Digests digests);
Json to_json(const Actions& actions);

std::string_view name_of(ActionArgument argument);

}  // namespace repobridge::policy
