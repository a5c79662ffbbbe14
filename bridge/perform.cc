#include "bridge/perform.h"

#include <algorithm>

#include "bridge/actions/command.h"
#include "bridge/clock.h"
#include "bridge/git/operations.h"
#include "bridge/git/push.h"
#include "bridge/leftover.h"
#include "bridge/log.h"
#include "bridge/runs/lease.h"
#include "bridge/wire/bounds.h"
#include "bridge/wire/envelope.h"
#include "platform/digest.h"
#include "platform/random.h"
#include "policy/codes.h"
#include "policy/decide.h"

namespace repobridge::bridge {
namespace {

namespace codes = policy::codes;
using policy::Json;

// Clients give up after about 60 seconds; every answer is to be there well before.
constexpr std::chrono::seconds kCallLimit{44};
// Looking takes longer than this only where something is wrong.
constexpr std::chrono::seconds kInspectLimit{20};
constexpr std::size_t kRunIdBytes = 16;

struct Judged {
  policy::Approved approved;
  const policy::Front* front;
};

Result<const policy::Front*> front_named(const policy::BridgePolicy& policy, const std::string& name) {
  const auto found = std::ranges::find(policy.fronts, name, &policy::Front::name);
  if (found != policy.fronts.end()) return &*found;
  return policy::refuse(codes::kInternalError, "the key that was proven belongs to no front of the policy");
}

Result<Judged> judge(const policy::BridgePolicy& policy, const std::string& front_name,
                     const wire::Request& request) {
  RB_TRY(const auto* front, front_named(policy, front_name));
  const auto tool = policy::find_tool(request.tool);
  if (!tool) return policy::refuse(codes::kInvalidRequest, "there is no tool of that name");
  RB_TRY(auto call, policy::parse_call(*tool, request.arguments));
  RB_TRY(auto approved, policy::decide(policy, *front, std::move(call)));
  return Judged{.approved = std::move(approved), .front = front};
}

std::string detail_of(const policy::Call& call) {
  if (const auto* inspect = std::get_if<policy::InspectCall>(&call))
    return std::string(name_of(inspect->view));
  if (const auto* run = std::get_if<policy::RunActionCall>(&call)) return run->action;
  return {};
}

Audit::Call audit_call(const std::string& front_name, const wire::Request& request) {
  return Audit::Call{.id = request.id,
                     .front = front_name,
                     .caller = request.caller,
                     .tool = request.tool,
                     .workdir = request.arguments.value("workdir", Json()).is_string()
                                    ? request.arguments["workdir"].get<std::string>()
                                    : "",
                     .arguments_sha256 = platform::sha256_hex(policy::dump_json(request.arguments))};
}

// What the answer repeats of the question.
Json echo_of(const policy::Call& call) {
  Json echo{{"tool", name_of(policy::tool_of(call))}};
  if (!policy::workdir_of(call).empty()) echo["workdir"] = policy::workdir_of(call);
  if (const auto* inspect = std::get_if<policy::InspectCall>(&call)) echo["view"] = name_of(inspect->view);
  if (const auto* run = std::get_if<policy::RunActionCall>(&call)) {
    echo["action"] = run->action;
    if (run->path) echo["path"] = run->path->text();
  }
  return echo;
}

Json workdirs_json(const policy::BridgePolicy& policy, const policy::Front& front) {
  Json list = Json::array();
  for (const auto& [alias, workdir] : policy::front_side(policy, front).workdirs) {
    list.push_back(
        Json{{"alias", alias}, {"description", workdir.description}, {"read_only", workdir.read_only}});
  }
  return Json{{"workdirs", std::move(list)}};
}

asio::awaitable<Result<Json>> inspect(CallContext context, Parts& parts, const Judged& judged,
                                      policy::InspectCall call) {
  switch (call.view) {
    case policy::View::workdirs:
      co_return workdirs_json(parts.policy, *judged.front);
    case policy::View::status:
      co_return co_await git::view_status(context, parts, judged.approved.workdir());
    case policy::View::diff:
    case policy::View::staged_diff:
      co_return co_await git::view_diff(context, parts, judged.approved.workdir(), std::move(call));
    case policy::View::actions:
      co_return co_await actions::view_actions(context, parts, judged.approved.workdir());
  }
  co_return policy::refuse(codes::kInternalError, "a view has no code");
}

Result<runs::Lease> take_lease(const Parts& parts, const policy::Approved& approved) {
  const auto root = platform::open_directory(approved.workdir().path);
  if (!root) {
    return policy::refuse(
        codes::kWorkdirUnavailable,
        "the workdir's directory cannot be opened; the administrator must look after WORKDIR_XX_PATH");
  }
  RB_TRY(const auto facts, platform::facts_of(root->get()));
  const auto poisoned = std::ranges::find_if(
      parts.poisoned, [&](const runs::Lease& lease) { return lease.root() == facts.identity; });
  if (poisoned != parts.poisoned.end()) return runs::recovery_required(poisoned->holder());
  RB_TRY(auto run_id, platform::random_hex(kRunIdBytes));
  runs::Holder holder{.tool = std::string(name_of(policy::tool_of(approved.call()))),
                      .action = detail_of(approved.call()),
                      .since = utc_now(),
                      .run_id = std::move(run_id)};
  RB_TRY(auto locked, runs::LockedWorkdir::lock(runs::LeasePlace::of(parts.policy.lock_dir, facts.identity)));
  RB_CHECK(settle_leftover(locked, root->get()));
  return std::move(locked).begin(std::move(holder), parts.generation);
}

asio::awaitable<runs::Written> write(CallContext context, Parts& parts, const runs::Lease& lease,
                                     const policy::Approved& approved) {
  const auto& workdir = approved.workdir();
  if (const auto* run = std::get_if<policy::RunActionCall>(&approved.call())) {
    co_return co_await actions::run_command(context, parts, lease, workdir, approved.action(), *run);
  }
  if (std::holds_alternative<policy::PushCall>(approved.call())) {
    co_return co_await git::push(context, parts, lease, workdir);
  }
  co_return co_await git::commit(context, parts, lease, workdir,
                                 std::get<policy::CommitCall>(approved.call()));
}

asio::awaitable<Result<Json>> write_under_lease(CallContext context, Parts& parts,
                                                const policy::Approved& approved) {
  RB_CO_TRY(auto lease, take_lease(parts, approved));
  auto written = co_await write(context, parts, lease, approved);
  if (!written.proven) {
    if (const auto noted = lease.note_unproven(); !noted) log_fault(noted.error());
    parts.poisoned.push_back(std::move(lease));
    co_return policy::refuse(
        codes::kCleanupUnproven,
        "something that this call started may still run, or stand in .git, so the workdir stays closed "
        "to writers; the administrator looks at it with `repobridge lease recover`");
  }
  RB_CO_CHECK(std::move(lease).release());
  co_return std::move(written.answer);
}

asio::awaitable<Result<Json>> act(CallContext context, Parts& parts, const Judged& judged) {
  if (const auto* call = std::get_if<policy::InspectCall>(&judged.approved.call())) {
    context.deadline = platform::Deadline::after(kInspectLimit);
    co_return co_await inspect(context, parts, judged, *call);
  }
  co_return co_await write_under_lease(context, parts, judged.approved);
}

// Errors of the rooms below have names of their own that callers have no use for.
Error for_caller(Error error) {
  if (policy::find_code(error.code) != nullptr && error.code != codes::kInternalError.name) return error;
  log_fault(error);
  return Error{.kind = Kind::internal,
               .code = std::string(codes::kInternalError.name),
               .message = "the bridge met a fault of its host or its own; its log says more"};
}

wire::Outcome finished(const Parts& parts, Json body, bool is_error) {
  if (auto redacted = parts.redactor.apply(body); !redacted) {
    body = wire::error_body(redacted.error());
    is_error = true;
  }
  wire::bound(body, parts.policy.limits);
  return wire::Outcome{.is_error = is_error, .body = std::move(body)};
}

wire::Outcome answer_of(const Parts& parts, const policy::Call& call, const wire::Caller& caller,
                        Result<Json> data) {
  if (!data) return finished(parts, wire::error_body(for_caller(std::move(data).error())), true);
  wire::Success success{.caller = caller, .request = echo_of(call), .data = *std::move(data)};
  return finished(parts, wire::envelope(std::move(success)), false);
}

std::string code_in(const wire::Outcome& outcome) {
  return outcome.is_error ? outcome.body["error"]["code"].get<std::string>() : "ok";
}

}  // namespace

wire::Outcome outcome_of(const Error& error) {
  return wire::Outcome{.is_error = true, .body = wire::error_body(for_caller(error))};
}

asio::awaitable<wire::Outcome> perform(asio::any_io_executor executor, Parts& parts, std::string front_name,
                                       wire::Request request, std::stop_token stop) {
  const auto began = std::chrono::steady_clock::now();
  auto record = audit_call(front_name, request);
  auto judged = judge(parts.policy, front_name, request);
  if (!judged) {
    if (auto noted = parts.audit.refused(record, judged.error().code); !noted)
      co_return outcome_of(noted.error());
    co_return finished(parts, wire::error_body(for_caller(std::move(judged).error())), true);
  }
  const policy::Call& call = judged->approved.call();
  record.detail = detail_of(call);
  record.writes = policy::writes(call);
  if (auto noted = parts.audit.begin(record); !noted) co_return outcome_of(noted.error());
  CallContext context{.executor = executor, .deadline = platform::Deadline::after(kCallLimit), .stop = stop};
  auto data = co_await act(context, parts, *judged);
  auto outcome = answer_of(parts, call, request.caller, std::move(data));
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  // What was done cannot be undone for want of a line; the fault is logged and the answer goes out.
  if (auto noted = parts.audit.end(record, code_in(outcome), outcome.body, took); !noted)
    log_fault(noted.error());
  co_return outcome;
}

}  // namespace repobridge::bridge
