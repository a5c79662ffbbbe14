#include "policy/decide.h"

#include <algorithm>

#include "policy/codes.h"

namespace repobridge::policy {
namespace {

// The one call that is about no workdir. An empty alias alone does not make one.
bool lists_workdirs(const Call& call) {
  const auto* inspect = std::get_if<InspectCall>(&call);
  return inspect != nullptr && inspect->view == View::workdirs;
}

template <class W>
Failure no_such_workdir(const std::map<std::string, W, std::less<>>& workdirs) {
  Json aliases = Json::array();
  for (const auto& [alias, workdir] : workdirs) aliases.push_back(alias);
  return refuse(codes::kWorkdirNotFound, "no workdir has that alias; view workdirs lists them",
                Json{{"workdirs", std::move(aliases)}});
}

Result<void> check(const Call& call, bool read_only, const PathRules& rules) {
  if (writes(call) && read_only) {
    return refuse(codes::kWorkdirReadOnly,
                  "the workdir is read-only; only the administrator can change that (WORKDIR_XX_READ_ONLY)");
  }
  for (const auto& path : paths_of(call)) RB_CHECK(rules.check(path));
  if (const auto* run = std::get_if<RunActionCall>(&call); run != nullptr && run->path) {
    RB_CHECK(rules.check(*run->path));
  }
  return {};
}

Result<const Action*> action_of(const Workdir& workdir, const RunActionCall& call) {
  const auto found = workdir.actions.find(call.action);
  if (found == workdir.actions.end()) {
    Json names = Json::array();
    for (const auto& [name, action] : workdir.actions) names.push_back(name);
    return refuse(codes::kActionNotFound, "no action of the workdir has that name; view actions lists them",
                  Json{{"actions", std::move(names)}});
  }
  const Action& action = found->second;
  const Json details{{"argument", "path"}};
  if (action.argument == ActionArgument::none && call.path) {
    return refuse(codes::kInvalidArgument, "the action takes no argument; leave 'path' out", details);
  }
  if (action.argument == ActionArgument::path && !call.path) {
    return refuse(codes::kInvalidArgument, "the action takes one file of the workdir as 'path'", details);
  }
  if (call.path && call.path->bytes().starts_with('-')) {
    return refuse(codes::kInvalidArgument,
                  "'path' must not begin with '-', which programs take for an option", details);
  }
  return &action;
}

}  // namespace

Result<Approved> decide(const BridgePolicy& policy, const Front& front, Call call) {
  if (lists_workdirs(call)) return Approved(std::move(call), nullptr, nullptr);
  const std::string alias = workdir_of(call);
  // Seen through the caller's side, so that what was not granted is not told apart from what does not exist.
  const auto side = front_side(policy, front);
  const auto granted = side.workdirs.find(alias);
  if (granted == side.workdirs.end()) return no_such_workdir(side.workdirs);
  const Workdir& workdir = policy.workdirs.find(alias)->second;
  RB_CHECK(check(call, granted->second.read_only, workdir.rules));
  const Action* action = nullptr;
  if (const auto* run = std::get_if<RunActionCall>(&call)) {
    RB_TRY(action, action_of(workdir, *run));
  }
  return Approved(std::move(call), &workdir, action);
}

Result<void> precheck(const FrontPolicy& policy, const Call& call) {
  if (lists_workdirs(call)) return {};
  const auto found = policy.workdirs.find(workdir_of(call));
  if (found == policy.workdirs.end()) return no_such_workdir(policy.workdirs);
  return check(call, found->second.read_only, found->second.rules);
}

}  // namespace repobridge::policy
