#include "bridge/leftover.h"

#include "bridge/git/repository_guard.h"
#include "bridge/log.h"
#include "platform/process_identity.h"

namespace repobridge::bridge {

Result<void> settle_leftover(runs::LockedWorkdir& locked, int root) {
  if (!locked.leftover()) {
    log_fault(locked.leftover().error());
    return runs::recovery_required(std::nullopt);
  }
  const auto& leftover = *locked.leftover();
  if (!leftover) return locked.settle();  // before a record that was not finished nothing began
  if (auto settled = git::RepositoryGuard::settle(root, leftover->git); !settled) {
    log_fault(settled.error());
    return runs::recovery_required(leftover);
  }
  RB_TRY(const auto boot, platform::boot_id());
  if (!leftover->proven_gone(boot)) return runs::recovery_required(leftover);
  return locked.settle();
}

}  // namespace repobridge::bridge
