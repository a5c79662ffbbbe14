// What a caller asks for, as values: the four tools and their arguments.
//
// Promise: parse_call() takes exactly the arguments that docs/PROTOCOL.md lists for the tool; any other is
// refused by name and never ignored. Front and bridge both use it, so a call that the front let through means
// the same to the bridge.
// Errors: INVALID_ARGUMENT (details.argument), and those of paths and messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"
#include "policy/repo_path.h"

namespace repobridge::policy {

inline constexpr std::size_t kMaxPathsPerCall = 1000;
inline constexpr std::int64_t kMaxWaitSeconds = 44;

enum class Tool : std::uint8_t { inspect_repo, run_repo_action, commit_repo_changes, push_repo };
enum class View : std::uint8_t { workdirs, status, diff, staged_diff, actions, run };

struct InspectCall {
  View view = View::workdirs;
  std::string workdir;          // empty for view workdirs only
  std::vector<RepoPath> paths;  // for the two diffs only, and there not empty
  // For view run only. Without an id: the caller's latest in the workdir.
  std::optional<std::string> run_id;
  std::optional<std::chrono::seconds> wait;
};
struct RunActionCall {
  std::string workdir;
  std::string action;
  std::optional<RepoPath> path;
};
struct CommitCall {
  std::string workdir;
  std::vector<RepoPath> paths;  // sorted, each once, not empty
  std::string message;          // as it will be stored
  // The blobs that the commit must store, as a diff showed them, for each of `paths`; empty: whatever is
  // there.
  std::map<RepoPath, std::string> expect;
};
struct PushCall {
  std::string workdir;
};

using Call = std::variant<InspectCall, RunActionCall, CommitCall, PushCall>;

Result<Call> parse_call(Tool tool, const Json& arguments);

std::optional<Tool> find_tool(std::string_view name);
std::string_view name_of(Tool tool);
std::string_view name_of(View view);

Tool tool_of(const Call& call);
const std::string& workdir_of(const Call& call);  // empty for view workdirs
const std::vector<RepoPath>& paths_of(const Call& call);
// Whether it takes the workdir's writer lease.
bool writes(const Call& call);

}  // namespace repobridge::policy
