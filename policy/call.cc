#include "policy/call.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "policy/codes.h"
#include "policy/commit_message.h"

namespace repobridge::policy {
namespace {

constexpr std::array kTools = {Tool::inspect_repo, Tool::run_repo_action, Tool::commit_repo_changes,
                               Tool::push_repo};
constexpr std::array kViews = {View::workdirs,    View::status,  View::diff,
                               View::staged_diff, View::actions, View::run};

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_diff(View view) { return view == View::diff || view == View::staged_diff; }

Result<View> read_view(Fields& fields) {
  RB_TRY(const auto name, fields.text("view"));
  const auto* found = std::ranges::find_if(kViews, [&](View view) { return name_of(view) == name; });
  if (found != kViews.end()) return *found;
  return fields.refuse_field("view", "must be workdirs, status, diff, staged_diff, actions or run");
}

Result<std::vector<RepoPath>> read_paths(Fields& fields) {
  RB_TRY(const auto texts, fields.texts("paths"));
  if (texts.empty()) {
    return fields.refuse_field("paths", "must name at least one file; there is no way to mean all files");
  }
  if (texts.size() > kMaxPathsPerCall) return fields.refuse_field("paths", "names more than 1000 files");
  std::vector<RepoPath> paths;
  for (const auto& text : texts) {
    RB_TRY(auto path, RepoPath::parse(text));
    paths.push_back(std::move(path));
  }
  std::ranges::sort(paths);
  const auto repeated = std::ranges::unique(paths);
  paths.erase(repeated.begin(), repeated.end());
  return paths;
}

bool is_run_id(std::string_view text) {
  constexpr std::size_t kCharacters = 32;
  return text.size() == kCharacters && is_lower_hex(text);
}

Result<void> read_run_reference(Fields& fields, InspectCall& call) {
  const bool named = fields.any("run_id") != nullptr;
  const bool waits = fields.any("wait_seconds") != nullptr;
  if (call.view != View::run) {
    if (named) return fields.refuse_field("run_id", "goes only with view run");
    if (waits) return fields.refuse_field("wait_seconds", "goes only with view run");
    return {};
  }
  RB_TRY(call.run_id, fields.optional_text("run_id"));
  if (call.run_id && !is_run_id(*call.run_id)) {
    return fields.refuse_field("run_id", "must be the 32 lower-case hex digits of an answer's run_id");
  }
  if (!waits) return {};
  RB_TRY(const auto seconds, fields.number("wait_seconds", 0, kMaxWaitSeconds));
  call.wait = std::chrono::seconds(seconds);
  return {};
}

Result<Call> read_inspect(Fields& fields) {
  InspectCall call;
  RB_TRY(call.view, read_view(fields));
  RB_TRY(const auto workdir, fields.optional_text("workdir"));
  if (call.view == View::workdirs && workdir) {
    return fields.refuse_field("workdir", "does not go with view workdirs, which lists them all");
  }
  if (call.view != View::workdirs && (!workdir || workdir->empty())) {
    return fields.refuse_field("workdir", "is missing; view workdirs lists the aliases");
  }
  call.workdir = workdir.value_or("");
  if (is_diff(call.view)) {
    RB_TRY(call.paths, read_paths(fields));
  } else if (fields.any("paths") != nullptr) {
    return fields.refuse_field("paths", "goes only with the views diff and staged_diff");
  }
  RB_CHECK(read_run_reference(fields, call));
  return call;
}

// An empty name would mean none, and only view workdirs goes without one.
Result<std::string> read_workdir(Fields& fields) {
  RB_TRY(auto workdir, fields.text("workdir"));
  if (workdir.empty()) return fields.refuse_field("workdir", "is empty; view workdirs lists the aliases");
  return workdir;
}

Result<Call> read_run(Fields& fields) {
  RunActionCall call;
  RB_TRY(call.workdir, read_workdir(fields));
  RB_TRY(call.action, fields.text("action"));
  RB_TRY(const auto path, fields.optional_text("path"));
  if (path) {
    RB_TRY(call.path, RepoPath::parse(*path));
  }
  return call;
}

bool is_object_id(std::string_view text) {
  constexpr std::size_t kCharacters = 40;
  return text.size() == kCharacters && is_lower_hex(text);
}

Result<std::map<RepoPath, std::string>> read_expect(Fields& fields, const std::vector<RepoPath>& paths) {
  std::map<RepoPath, std::string> expect;
  const Json* value = fields.any("expect");
  if (value == nullptr) return expect;
  if (!value->is_object()) return fields.refuse_field("expect", "must be an object from path to new_oid");
  for (const auto& [name, oid] : value->items()) {
    RB_TRY(auto path, RepoPath::parse(name));
    if (!oid.is_string() || !is_object_id(oid.get<std::string>())) {
      return fields.refuse_field("expect",
                                 "must give each path the new_oid of its diff, 40 lower-case hex digits");
    }
    if (!expect.emplace(std::move(path), oid.get<std::string>()).second) {
      return fields.refuse_field("expect", "names one file twice");
    }
  }
  const bool same = std::ranges::equal(expect, paths, {}, [](const auto& entry) { return entry.first; });
  if (!same) return fields.refuse_field("expect", "must name exactly the files that 'paths' names");
  return expect;
}

Result<Call> read_commit(Fields& fields) {
  CommitCall call;
  RB_TRY(call.workdir, read_workdir(fields));
  RB_TRY(call.paths, read_paths(fields));
  RB_TRY(const auto message, fields.text("message"));
  RB_TRY(call.message, checked_commit_message(message));
  RB_TRY(call.expect, read_expect(fields, call.paths));
  return call;
}

Result<Call> read_push(Fields& fields) {
  PushCall call;
  RB_TRY(call.workdir, read_workdir(fields));
  return call;
}

std::vector<std::string_view> known_arguments(Tool tool) {
  switch (tool) {
    case Tool::inspect_repo:
      return {"workdir", "view", "paths", "run_id", "wait_seconds"};
    case Tool::run_repo_action:
      return {"workdir", "action", "path"};
    case Tool::commit_repo_changes:
      return {"workdir", "paths", "message", "expect"};
    case Tool::push_repo:
      return {"workdir"};
  }
  std::abort();
}

Result<Call> read_arguments(Tool tool, Fields& fields) {
  switch (tool) {
    case Tool::inspect_repo:
      return read_inspect(fields);
    case Tool::run_repo_action:
      return read_run(fields);
    case Tool::commit_repo_changes:
      return read_commit(fields);
    case Tool::push_repo:
      return read_push(fields);
  }
  std::abort();
}

}  // namespace

Result<Call> parse_call(Tool tool, const Json& arguments) {
  RB_TRY(auto fields, Fields::of(arguments, "", codes::kInvalidArgument));
  // Told first: who sends `force` should hear of that, not of something else that is missing.
  RB_CHECK(fields.only(known_arguments(tool)));
  return read_arguments(tool, fields);
}

std::optional<Tool> find_tool(std::string_view name) {
  const auto* found = std::ranges::find_if(kTools, [&](Tool tool) { return name_of(tool) == name; });
  return found == kTools.end() ? std::nullopt : std::optional(*found);
}

std::string_view name_of(Tool tool) {
  switch (tool) {
    case Tool::inspect_repo:
      return "inspect_repo";
    case Tool::run_repo_action:
      return "run_repo_action";
    case Tool::commit_repo_changes:
      return "commit_repo_changes";
    case Tool::push_repo:
      return "push_repo";
  }
  std::abort();
}

std::string_view name_of(View view) {
  switch (view) {
    case View::workdirs:
      return "workdirs";
    case View::status:
      return "status";
    case View::diff:
      return "diff";
    case View::staged_diff:
      return "staged_diff";
    case View::actions:
      return "actions";
    case View::run:
      return "run";
  }
  std::abort();
}

Tool tool_of(const Call& call) {
  return std::visit(Overloaded{[](const InspectCall&) { return Tool::inspect_repo; },
                               [](const RunActionCall&) { return Tool::run_repo_action; },
                               [](const CommitCall&) { return Tool::commit_repo_changes; },
                               [](const PushCall&) { return Tool::push_repo; }},
                    call);
}

const std::string& workdir_of(const Call& call) {
  return std::visit([](const auto& one) -> const std::string& { return one.workdir; }, call);
}

const std::vector<RepoPath>& paths_of(const Call& call) {
  static const std::vector<RepoPath> kNone;
  return std::visit(
      Overloaded{[](const InspectCall& one) -> const std::vector<RepoPath>& { return one.paths; },
                 [](const CommitCall& one) -> const std::vector<RepoPath>& { return one.paths; },
                 [](const RunActionCall&) -> const std::vector<RepoPath>& { return kNone; },
                 [](const PushCall&) -> const std::vector<RepoPath>& { return kNone; }},
      call);
}

bool writes(const Call& call) { return !std::holds_alternative<InspectCall>(call); }

}  // namespace repobridge::policy
