#include "bridge/recovery.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "bridge/leftover.h"
#include "bridge/log.h"
#include "bridge/runs/lease.h"
#include "bridge/runs/supervisor_protocol.h"
#include "platform/deadline.h"
#include "platform/files.h"
#include "platform/process_identity.h"
#include "policy/codes.h"

namespace repobridge::bridge {
namespace {

// How long the supervisors of a dead bridge may take, and how often is looked.
constexpr auto kEndOfEarlierLife = runs::kGrace + runs::kKillLimit + std::chrono::seconds{2};
constexpr std::chrono::milliseconds kLookAgain{20};

// Whether the lock is held by helpers whose bridge has died; they end by themselves.
bool held_by_the_dying(const runs::LeasePlace& place) {
  const auto record = runs::read_record(place);
  return record && *record && !platform::may_be_alive((*record)->bridge);
}

asio::awaitable<Result<void>> recover_workdir(asio::any_io_executor executor, const Parts& parts,
                                              const policy::Workdir& workdir, platform::Deadline patience) {
  RB_CO_TRY(const auto root, platform::open_directory(workdir.path));
  RB_CO_TRY(const auto facts, platform::facts_of(root.get()));
  const auto place = runs::LeasePlace::of(parts.policy.lock_dir, facts.identity);
  asio::steady_timer timer(executor);
  for (;;) {
    auto locked = runs::LockedWorkdir::lock(place);
    if (locked) co_return settle_leftover(*locked, root.get());
    if (patience.passed() || !held_by_the_dying(place)) co_return fail(std::move(locked).error());
    timer.expires_after(kLookAgain);
    (void)co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace

asio::awaitable<void> recover_workdirs(asio::any_io_executor executor, const Parts& parts) {
  const auto patience = platform::Deadline::after(kEndOfEarlierLife);
  for (const auto& [alias, workdir] : parts.policy.workdirs) {
    const auto recovered = co_await recover_workdir(executor, parts, workdir, patience);
    // Busy, missing or damaged: the next writer's call says so to whoever asks.
    if (!recovered) log_fault(recovered.error());
  }
}

}  // namespace repobridge::bridge
