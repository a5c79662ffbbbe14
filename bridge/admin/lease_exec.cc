#include "bridge/admin/lease_exec.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "bridge/clock.h"
#include "bridge/leftover.h"
#include "bridge/runs/lease_queue.h"
#include "bridge/runs/supervised_run.h"
#include "platform/files.h"
#include "platform/program.h"
#include "platform/random.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

namespace codes = policy::codes;

constexpr std::size_t kRunIdBytes = 16;
constexpr int kSignalled = 128;
// A supervisor has a limit, in milliseconds of 31 bits.
constexpr std::chrono::hours kLongest{20 * 24};
constexpr std::string_view kRunIdName = "RB_RUN_ID=";

// As a shell would find it, but only where the path says so absolutely.
Result<std::string> find_command(const std::string& name) {
  if (name.find('/') == std::string::npos) {
    const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
    return platform::find_program(name, path == nullptr ? "" : path);
  }
  return platform::canonical_path(name);
}

// Without the id of a run that this one is in.
std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(kRunIdName)) environment.emplace_back(*entry);
  }
  return environment;
}

Result<runs::RunRequest> run_request(const WorkdirPlace& place, const ExecRequest& request) {
  RB_TRY(const auto self, platform::canonical_path("/proc/self/exe"));
  runs::RunRequest run;
  run.supervisor = self.substr(0, self.rfind('/')) + "/repobridge-run";
  run.argv = request.command;
  RB_TRY(run.argv.front(), find_command(request.command.front()));
  run.environment = own_environment();
  run.directory = place.root.get();
  run.limit = kLongest;
  run.own_streams = true;
  return run;
}

Result<runs::Lease> begin(const WorkdirPlace& place, runs::LockedWorkdir locked) {
  RB_CHECK(bridge::settle_leftover(locked, place.root.get()));
  RB_TRY(auto run_id, platform::random_hex(kRunIdBytes));
  RB_TRY(const auto generation, runs::Generation::begin());
  runs::Holder holder{.tool = std::string(runs::kLeaseExec),
                      .action = "",
                      .since = bridge::utc_now(),
                      .run_id = std::move(run_id)};
  return std::move(locked).begin(std::move(holder), generation);
}

Failure unproven(const runs::Lease& lease) {
  // Where even this cannot be noted, the supervisor's missing receipt says the same.
  (void)lease.note_unproven();
  return policy::refuse(
      codes::kCleanupUnproven,
      "something that the command started may still run, so the workdir stays closed to writers; "
      "`repobridge lease recover` opens it again");
}

int exit_code_of(const runs::RunOutcome& outcome) {
  if (outcome.exit_code) return *outcome.exit_code;
  return outcome.signal ? kSignalled + *outcome.signal : kExecRefused;
}

// The caller waits for the end, so what is referred to outlives it.
asio::awaitable<Result<int>> run_alone(bridge::CallContext context, runs::LeaseQueue& queue,
                                       const WorkdirPlace& place, const ExecRequest& request) {
  RB_CO_TRY(auto run, run_request(place, request));
  auto locked = co_await queue.lock(context, place.lease, request.wait);
  if (!locked) co_return lock_refused(place, locked.error());
  RB_CO_TRY(auto lease, begin(place, *std::move(locked)));
  const auto outcome = co_await runs::run_supervised(context, lease, std::move(run));
  if (outcome && !outcome->proven) co_return unproven(lease);
  RB_CO_CHECK(std::move(lease).release());
  if (!outcome) co_return fail(outcome.error());
  co_return exit_code_of(*outcome);
}

}  // namespace

Result<int> exec_under_lease(const WorkdirPlace& place, const ExecRequest& request) {
  asio::io_context loop(1);
  runs::LeaseQueue queue;
  std::stop_source give_up;
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([&](const boost::system::error_code& ec, int) {
    if (!ec) give_up.request_stop();
  });
  const bridge::CallContext context{.executor = loop.get_executor(),
                                    .deadline = platform::Deadline::after(kLongest),
                                    .stop = give_up.get_token()};
  std::optional<Result<int>> ended;
  asio::co_spawn(loop, run_alone(context, queue, place, request),
                 [&](const std::exception_ptr& exception, Result<int> result) {
                   if (!exception) ended = std::move(result);
                   signals.cancel();
                 });
  loop.run();
  if (ended) return *std::move(ended);
  return policy::refuse(codes::kInternalError, "the command's run ended by an exception");
}

}  // namespace repobridge::admin
