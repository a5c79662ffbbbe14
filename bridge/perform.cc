#include "bridge/perform.h"

#include <algorithm>

#include "bridge/actions/command.h"
#include "bridge/answer.h"
#include "bridge/git/operations.h"
#include "bridge/log.h"
#include "bridge/runs/run_json.h"
#include "bridge/write.h"
#include "platform/digest.h"
#include "policy/codes.h"
#include "policy/decide.h"

namespace repobridge::bridge {
namespace {

namespace codes = policy::codes;
using policy::Json;

// Looking takes longer than this only where something is wrong.
constexpr std::chrono::seconds kInspectLimit{20};

struct Judged {
  policy::Approved approved;
  const policy::Front* front;
};

Result<const policy::Front*> front_named(const policy::BridgePolicy& policy, const std::string& name) {
  const auto found = std::ranges::find(policy.fronts, name, &policy::Front::name);
  if (found != policy.fronts.end()) return &*found;
  return policy::refuse(codes::kInternalError, "the key that was proven belongs to no front of the policy");
}

// A front may name as many callers as it likes, so both are counted.
Result<void> count(Parts& parts, const std::string& front, const std::string& caller) {
  const auto now = std::chrono::steady_clock::now();
  auto wait = parts.front_rate.take(front, now);
  if (wait.count() == 0) wait = parts.caller_rate.take(front + "\n" + caller, now);
  if (wait.count() == 0) return {};
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  return policy::refuse(codes::kTooManyCalls,
                        "more calls came within a minute than the administrator allows; call again after "
                        "details.retry_after_seconds",
                        Json{{"retry_after_seconds", seconds}});
}

Result<Judged> judge(Parts& parts, const std::string& front_name, const wire::Request& request) {
  RB_CHECK(count(parts, front_name, request.caller.login));
  RB_TRY(const auto* front, front_named(parts.policy, front_name));
  const auto tool = policy::find_tool(request.tool);
  if (!tool) return policy::refuse(codes::kInvalidRequest, "there is no tool of that name");
  RB_TRY(auto call, policy::parse_call(*tool, request.arguments));
  RB_TRY(auto approved, policy::decide(parts.policy, *front, std::move(call)));
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

Json workdirs_json(const policy::BridgePolicy& policy, const policy::Front& front) {
  Json list = Json::array();
  for (const auto& [alias, workdir] : policy::front_side(policy, front).workdirs) {
    list.push_back(
        Json{{"alias", alias}, {"description", workdir.description}, {"read_only", workdir.read_only}});
  }
  return Json{{"workdirs", std::move(list)}};
}

// The policy of now has let the caller look into the workdir; the run must be its own.
asio::awaitable<Result<Json>> view_run(CallContext context, Parts& parts, const AdmittedCall& admitted,
                                       policy::InspectCall call, OnRun on_run) {
  const runs::RunOwner owner{.front = admitted.record.front, .caller = admitted.caller.login};
  const auto& workdir = admitted.approved.workdir();
  RB_CO_TRY(const auto run, parts.runs.find(owner, workdir.alias, workdir.path, call.run_id));
  on_run(run->output());
  const auto wait = std::min(call.wait.value_or(std::chrono::seconds{0}), parts.policy.runs.call_wait);
  const bool ended = co_await runs::TrackedRun::wait_for_end(run, context.executor,
                                                             platform::Deadline::after(wait), context.stop);
  if (!ended) co_return runs::running_json(*run);
  co_return runs::ended_json(*run);
}

asio::awaitable<Result<Json>> inspect(CallContext context, Parts& parts, const AdmittedCall& admitted,
                                      policy::InspectCall call, OnRun on_run) {
  switch (call.view) {
    case policy::View::workdirs:
      co_return workdirs_json(parts.policy, *admitted.front);
    case policy::View::status:
      co_return co_await git::view_status(context, parts, admitted.approved.workdir());
    case policy::View::diff:
    case policy::View::staged_diff:
      co_return co_await git::view_diff(context, parts, admitted.approved.workdir(), std::move(call));
    case policy::View::actions:
      co_return co_await actions::view_actions(context, parts, admitted.approved.workdir());
    case policy::View::run:
      co_return co_await view_run(context, parts, admitted, std::move(call), std::move(on_run));
  }
  co_return policy::refuse(codes::kInternalError, "a view has no code");
}

}  // namespace

wire::Outcome AdmittedCall::end(Parts& parts, Result<Json> data) const {
  auto outcome = answer_of(parts, approved.call(), caller, std::move(data));
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  // What was done cannot be undone for want of a line; the fault is logged and the answer goes out.
  if (auto noted = parts.audit.end(record, code_in(outcome), outcome.body, took); !noted)
    log_fault(noted.error());
  return outcome;
}

asio::awaitable<wire::Outcome> perform(asio::any_io_executor executor, Parts& parts, std::string front_name,
                                       wire::Request request, std::stop_token stop, OnRun on_run) {
  auto record = audit_call(front_name, request);
  auto judged = judge(parts, front_name, request);
  if (!judged) {
    if (auto noted = parts.audit.refused(record, judged.error().code); !noted)
      co_return outcome_of(noted.error());
    co_return refusal_of(parts, std::move(judged).error());
  }
  record.detail = detail_of(judged->approved.call());
  record.writes = policy::writes(judged->approved.call());
  if (auto noted = parts.audit.begin(record); !noted) co_return outcome_of(noted.error());
  AdmittedCall call{.approved = std::move(judged->approved),
                    .front = judged->front,
                    .caller = request.caller,
                    .record = std::move(record)};
  CallContext context{
      .executor = executor, .deadline = platform::Deadline::after(kInspectLimit), .stop = stop};
  const auto* look = std::get_if<policy::InspectCall>(&call.approved.call());
  if (look == nullptr) co_return co_await perform_write(context, parts, std::move(call), std::move(on_run));
  auto data = co_await inspect(context, parts, call, *look, std::move(on_run));
  co_return call.end(parts, std::move(data));
}

}  // namespace repobridge::bridge
