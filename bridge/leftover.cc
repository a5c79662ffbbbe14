#include "bridge/leftover.h"

#include "bridge/git/repository_guard.h"
#include "bridge/log.h"
#include "platform/control_group.h"
#include "platform/files.h"
#include "platform/process_identity.h"

namespace repobridge::bridge {
namespace {

// Nothing else is done meanwhile; a group whose processes were killed is empty within milliseconds.
constexpr std::chrono::milliseconds kGroupLimit{1000};

// Ends what a killed supervisor's run may have left. Whether nothing is: a program that could write to
// control groups could have left its own.
bool end_control_group(const runs::Record& record) {
  if (record.runs_drained || !record.control_group) return false;
  const auto ended = platform::end_control_group(record.control_group->path, kGroupLimit);
  if (!ended && !platform::is_absent(ended.error())) log_fault(ended.error());
  return ended && record.control_group->confined && !record.unproven;
}

}  // namespace

Result<void> settle_leftover(runs::LockedWorkdir& locked, int root) {
  if (!locked.leftover()) {
    log_fault(locked.leftover().error());
    return runs::recovery_required(std::nullopt);
  }
  const auto& leftover = *locked.leftover();
  if (!leftover) return locked.settle();  // before a record that was not finished nothing began
  const bool ended = end_control_group(*leftover);
  if (auto settled = git::RepositoryGuard::settle(root, leftover->git); !settled) {
    log_fault(settled.error());
    return runs::recovery_required(leftover);
  }
  RB_TRY(const auto boot, platform::boot_id());
  if (!ended && !leftover->proven_gone(boot)) return runs::recovery_required(leftover);
  return locked.settle();
}

}  // namespace repobridge::bridge
