#include "bridge/write.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "bridge/actions/command.h"
#include "bridge/answer.h"
#include "bridge/clock.h"
#include "bridge/git/operations.h"
#include "bridge/git/push.h"
#include "bridge/leftover.h"
#include "bridge/log.h"
#include "bridge/runs/run_json.h"
#include "platform/random.h"
#include "policy/codes.h"

namespace repobridge::bridge {
namespace {

namespace codes = policy::codes;
using policy::Json;
using TrackedRun = std::shared_ptr<runs::TrackedRun>;

constexpr std::size_t kRunIdBytes = 16;

std::string action_of(const policy::Call& call) {
  const auto* run = std::get_if<policy::RunActionCall>(&call);
  return run != nullptr ? run->action : std::string();
}

Result<TrackedRun> admit(Parts& parts, const AdmittedCall& call) {
  RB_TRY(auto run_id, platform::random_hex(kRunIdBytes));
  const auto& workdir = call.approved.workdir();
  return parts.runs.admit({.id = std::move(run_id),
                           .owner = {.front = call.record.front, .caller = call.caller.login},
                           .workdir = workdir.alias,
                           .root = workdir.path,
                           .tool = call.record.tool,
                           .action = action_of(call.approved.call()),
                           .since = utc_now()});
}

Failure root_unavailable() {
  return policy::refuse(
      codes::kWorkdirUnavailable,
      "the workdir's directory cannot be opened; the administrator must look after WORKDIR_XX_PATH");
}

// While a call waited, another directory may have come to stand there, of which the lock is not.
Result<void> check_still_there(const policy::Workdir& workdir, const platform::FileIdentity& root) {
  const auto now = platform::open_directory(workdir.path);
  if (!now) return root_unavailable();
  RB_TRY(const auto facts, platform::facts_of(now->get()));
  if (facts.identity != root) return root_unavailable();
  return {};
}

// The caller waits for the end, so what is referred to outlives it.
asio::awaitable<Result<runs::Lease>> take_lease(CallContext context, Parts& parts,
                                                const policy::Approved& approved,
                                                const runs::RunFacts& facts) {
  const auto& workdir = approved.workdir();
  const auto root = platform::open_directory(workdir.path);
  if (!root) co_return root_unavailable();
  RB_CO_TRY(const auto root_facts, platform::facts_of(root->get()));
  const auto poisoned = std::ranges::find_if(
      parts.poisoned, [&](const runs::Lease& lease) { return lease.root() == root_facts.identity; });
  if (poisoned != parts.poisoned.end()) co_return runs::recovery_required(poisoned->holder());
  auto place = runs::LeasePlace::of(parts.policy.lock_dir, root_facts.identity);
  const auto wait = std::min(workdir.lease_wait, parts.policy.runs.call_wait);
  RB_CO_TRY(auto locked, co_await parts.leases.lock(context, std::move(place), wait));
  RB_CO_CHECK(check_still_there(workdir, root_facts.identity));
  RB_CO_CHECK(settle_leftover(locked, root->get()));
  runs::Holder holder{.tool = facts.tool, .action = facts.action, .since = utc_now(), .run_id = facts.id};
  co_return std::move(locked).begin(std::move(holder), parts.generation);
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

asio::awaitable<Result<Json>> write_under_lease(CallContext context, Parts& parts, runs::Lease lease,
                                                const policy::Approved& approved) {
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

// The work from the lease to its end in the audit, on nobody's time but its own.
asio::awaitable<void> carry_out(asio::any_io_executor executor, Parts& parts, runs::Lease lease,
                                std::shared_ptr<const AdmittedCall> call, TrackedRun run) {
  CallContext context{.executor = executor,
                      .deadline = platform::Deadline::after(parts.policy.runs.longest),
                      .stop = run->stop_token(),
                      .output = run->output()};
  auto data = co_await write_under_lease(context, parts, std::move(lease), call->approved);
  parts.runs.ended(run, call->end(parts, std::move(data)));
}

void start(asio::any_io_executor executor, Parts& parts, runs::Lease lease,
           const std::shared_ptr<const AdmittedCall>& call, const TrackedRun& run) {
  parts.runs.started(run);
  asio::co_spawn(executor, carry_out(executor, parts, std::move(lease), call, run),
                 [&parts, call, run](const std::exception_ptr& exception) {
                   if (!exception) return;
                   const Error fault{.code = std::string(codes::kInternalError.name),
                                     .message = "a run ended by an exception"};
                   parts.runs.ended(run, call->end(parts, fail(fault)));
                 });
}

}  // namespace

asio::awaitable<wire::Outcome> perform_write(CallContext context, Parts& parts, AdmittedCall admitted,
                                             OnRun on_run) {
  const auto call = std::make_shared<const AdmittedCall>(std::move(admitted));
  auto run = admit(parts, *call);
  if (!run) co_return call->end(parts, fail(std::move(run).error()));
  const auto patience = platform::Deadline::after(parts.policy.runs.call_wait);
  auto lease = co_await take_lease(context, parts, call->approved, (*run)->facts());
  if (!lease) {
    parts.runs.withdraw(*run);
    co_return call->end(parts, fail(std::move(lease).error()));
  }
  on_run((*run)->output());
  start(context.executor, parts, *std::move(lease), call, *run);
  const std::stop_callback on_cancel(context.stop, [&run] { (*run)->stop(); });
  const bool ended = co_await runs::TrackedRun::wait_for_end(*run, context.executor, patience, {});
  if (ended) co_return *(*run)->outcome();
  co_return answer_of(parts, call->approved.call(), call->caller, runs::running_json(**run));
}

}  // namespace repobridge::bridge
