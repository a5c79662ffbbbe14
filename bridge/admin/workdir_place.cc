#include "bridge/admin/workdir_place.h"

#include "bridge/admin/env_source.h"
#include "bridge/wire/config.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::admin {

namespace codes = policy::codes;

Result<WorkdirPlace> find_workdir(const std::string& alias, const std::string& config) {
  RB_TRY(const auto path, bridge_config(config));
  RB_TRY(const auto policy, wire::load_bridge_policy(path));
  const auto workdir = policy.workdirs.find(alias);
  if (workdir == policy.workdirs.end()) {
    return policy::refuse(codes::kWorkdirNotFound, "no workdir of the configuration has that alias");
  }
  auto root = platform::open_directory(workdir->second.path);
  if (!root) return policy::refuse(codes::kWorkdirUnavailable, "the workdir's directory cannot be opened");
  RB_TRY(const auto facts, platform::facts_of(root->get()));
  RB_CHECK(platform::make_private_directory(policy.lock_dir));
  return WorkdirPlace{.alias = alias,
                      .path = workdir->second.path,
                      .state_dir = policy.state_dir,
                      .root = *std::move(root),
                      .lease = runs::LeasePlace::of(policy.lock_dir, facts.identity)};
}

std::string described(const runs::Holder& holder) {
  std::string text = holder.tool;
  if (!holder.action.empty()) text += ", action '" + holder.action + "'";
  return text + ", since " + holder.since + ", run " + holder.run_id;
}

Failure lock_refused(const WorkdirPlace& place, const Error& error) {
  if (error.kind != Kind::busy) return fail(error);
  const auto record = runs::read_record(place.lease);
  if (!record || !*record || !platform::may_be_alive((*record)->bridge)) {
    return policy::refuse(codes::kWorkdirBusy,
                          "another program holds the workdir's lock; let it end, or end it, and call again");
  }
  const auto& writer = **record;
  const std::string who = writer.holder.tool == runs::kLeaseExec ? "the command" : "the bridge";
  return policy::refuse(
      codes::kWorkdirBusy,
      who + " (process " + std::to_string(writer.bridge.pid) +
          ") holds the workdir: " + described(writer.holder) +
          (writer.unproven ? ". It could not prove that everything of it is gone; " : ". Let it end, or ") +
          "stop " + who + " and call again");
}

}  // namespace repobridge::admin
