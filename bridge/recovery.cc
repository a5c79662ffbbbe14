#include "bridge/recovery.h"

#include "bridge/git/operations.h"
#include "bridge/log.h"
#include "platform/process_identity.h"
#include "policy/call.h"

namespace repobridge::bridge {
namespace {

constexpr std::chrono::seconds kRecoveryLimit{20};

// Whether everything that wrote the record's writer started has ended with it.
bool proven_gone(const runs::Guard& guard, const std::string& boot) {
  return guard.boot != boot || guard.holder.tool == policy::name_of(policy::Tool::commit_repo_changes);
}

asio::awaitable<Result<void>> recover_workdir(CallContext context, const Parts& parts,
                                              const policy::Workdir& workdir) {
  RB_CO_TRY(const auto root, platform::open_directory(workdir.path));
  RB_CO_TRY(const auto facts, platform::facts_of(root.get()));
  RB_CO_TRY(auto locked,
            runs::LockedWorkdir::lock(runs::LeasePlace::of(parts.policy.lock_dir, facts.identity)));
  co_return co_await settle_leftover(context, parts, locked, facts.identity);
}

}  // namespace

asio::awaitable<Result<void>> settle_leftover(CallContext context, const Parts& parts,
                                              runs::LockedWorkdir& locked, platform::FileIdentity root) {
  const std::string journal = git::commit_journal(parts.policy.state_dir, root);
  RB_CO_CHECK(co_await git::recover_commit(context, parts, journal, locked.descriptor()));
  if (!locked.leftover()) co_return Result<void>();
  RB_CO_TRY(const auto boot, platform::boot_id());
  if (proven_gone(*locked.leftover(), boot)) RB_CO_CHECK(locked.settle());
  co_return Result<void>();
}

asio::awaitable<void> recover_workdirs(asio::any_io_executor executor, const Parts& parts) {
  for (const auto& [alias, workdir] : parts.policy.workdirs) {
    CallContext context{
        .executor = executor, .deadline = platform::Deadline::after(kRecoveryLimit), .stop = {}};
    const auto recovered = co_await recover_workdir(context, parts, workdir);
    // Busy, missing or damaged: the next writer's call says so to whoever asks.
    if (!recovered) log_fault(recovered.error());
  }
}

}  // namespace repobridge::bridge
