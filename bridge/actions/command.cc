#include "bridge/actions/command.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "bridge/actions/pins.h"
#include "bridge/actions/room.h"
#include "bridge/environment.h"
#include "policy/codes.h"

namespace repobridge::actions {
namespace {

namespace codes = policy::codes;
using bridge::CallContext;
using bridge::Parts;
using policy::Action;
using policy::Json;
using policy::Workdir;

Result<platform::UniqueFd> open_root(const Workdir& workdir) {
  auto root = platform::open_directory(workdir.path);
  if (root) return root;
  return policy::refuse(
      codes::kWorkdirUnavailable,
      "the workdir's directory cannot be opened; the administrator must look after WORKDIR_XX_PATH");
}

asio::awaitable<Result<Traces>> verify_beside(Parts& parts, int root, const Action& action) {
  // The caller waits here, so both outlive the work on the other thread.
  const auto work = [root, &action]() -> asio::awaitable<Result<Traces>> {
    co_return verify_pins(root, action);
  };
  co_return co_await asio::co_spawn(parts.hashing, work, asio::use_awaitable);
}

// The caller's file must be there, beneath the root and no link: a program would follow one.
Result<void> check_argument(int root, const policy::RepoPath& path) {
  auto fd = platform::open_beneath(root, path.bytes(), platform::OpenAs::location);
  const Json details{{"path", path.text()}};
  if (!fd && platform::is_absent(fd.error())) {
    return policy::refuse(codes::kPathNotFound, "there is no such file in the workdir", details);
  }
  if (!fd)
    return policy::refuse(codes::kPathBeyondLink, "a symbolic link is on the way to this path", details);
  RB_TRY(const auto facts, platform::facts_of(fd->get()));
  if (facts.is_link()) return policy::refuse(codes::kPathBeyondLink, "this path is a symbolic link", details);
  return {};
}

Json containment_json(const runs::RunOutcome& outcome) {
  const auto& held = outcome.containment;
  return Json{{"level", platform::level_of(held)}, {"subreaper", held.subreaper},
              {"cgroup", held.control_group},      {"landlock_abi", held.landlock_version},
              {"signal_scope", held.signal_scope}, {"stragglers_killed", outcome.stragglers_killed}};
}

Json isolation_json(const policy::Isolation& isolation, const platform::RoomParts& room) {
  return Json{{"network", policy::name_of_network(isolation)},
              {"home", policy::name_of_home(isolation)},
              {"held", room.held},
              {"missing", room.missing}};
}

Json run_json(const Action& action, const runs::Lease& lease, const runs::RunOutcome& outcome) {
  const bool finished = outcome.reason == runs::EndReason::itself;
  Json json{{"run_id", lease.holder().run_id},
            {"tool", lease.holder().tool},
            {"action", action.name},
            {"state", finished ? "finished" : "killed"},
            {"exit_code", outcome.exit_code ? Json(*outcome.exit_code) : Json()},
            {"signal", outcome.signal ? Json(*outcome.signal) : Json()},
            {"stdout", outcome.out.bytes},
            {"stderr", outcome.err.bytes},
            {"stdout_truncated", outcome.out.truncated},
            {"stderr_truncated", outcome.err.truncated},
            {"started_at", lease.holder().since},
            {"duration_ms", outcome.duration.count()},
            {"pins",
             {{"count", action.integrity.size()}, {"protection", outcome.frozen ? "overlay" : "reverified"}}},
            {"containment", containment_json(outcome)},
            {"isolation", isolation_json(action.isolation, outcome.room)}};
  if (!finished) json["reason"] = runs::name_of(outcome.reason);
  return json;
}

asio::awaitable<Result<Json>> perform(CallContext context, Parts& parts, const runs::Lease& lease,
                                      const Workdir& workdir, const Action& action,
                                      policy::RunActionCall call, bool& proven) {
  RB_CO_TRY(const auto root, open_root(workdir));
  if (call.path) RB_CO_CHECK(check_argument(root.get(), *call.path));
  const auto before = co_await verify_beside(parts, root.get(), action);
  if (!before) co_return fail(before.error());
  runs::RunRequest request;
  request.supervisor = parts.programs.supervisor;
  request.control_groups = parts.control_groups;
  request.room = room_argv(parts, workdir, action, *before);
  request.argv = action.argv;
  if (call.path) request.argv.push_back(call.path->bytes());
  RB_CO_TRY(request.environment, bridge::action_environment(action, parts.redactor));
  request.directory = root.get();
  request.check_frozen = [&parts, &action](int view) -> asio::awaitable<Result<void>> {
    const auto pinned = co_await verify_beside(parts, view, action);
    co_return pinned ? Result<void>() : fail(pinned.error());
  };
  request.limit = action.timeout.value_or(parts.policy.runs.longest);
  request.max_output_bytes = action.max_output_bytes;
  RB_CO_TRY(const auto outcome, co_await runs::run_supervised(context, lease, std::move(request)));
  proven = outcome.proven;
  if (!outcome.frozen) {
    const auto after = co_await verify_beside(parts, root.get(), action);
    RB_CO_CHECK(check_unchanged(action, *before, after));
  }
  co_return run_json(action, lease, outcome);
}

}  // namespace

asio::awaitable<Result<Json>> view_actions(CallContext /*context*/, Parts& parts, const Workdir& workdir) {
  RB_CO_TRY(const auto root, open_root(workdir));
  Json list = Json::array();
  for (const auto& [name, action] : workdir.actions) {
    const auto pins = co_await verify_beside(parts, root.get(), action);
    Json one{{"name", name},
             {"kind", "command"},
             {"argument", policy::name_of(action.argument)},
             {"mutates", action.mutates},
             {"timeout_seconds", action.timeout.value_or(parts.policy.runs.longest).count()},
             {"pins", {{"count", action.integrity.size()}, {"state", pins ? "ok" : "drift"}}}};
    if (action.description) one["description"] = *action.description;
    list.push_back(std::move(one));
  }
  co_return Json{{"actions", std::move(list)}};
}

asio::awaitable<runs::Written> run_command(CallContext context, Parts& parts, const runs::Lease& lease,
                                           const Workdir& workdir, const Action& action,
                                           policy::RunActionCall call) {
  bool proven = true;
  auto answer = co_await perform(context, parts, lease, workdir, action, std::move(call), proven);
  co_return runs::Written{.answer = std::move(answer), .proven = proven};
}

}  // namespace repobridge::actions
