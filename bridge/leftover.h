// What a writer left that did not end cleanly, brought to one of its ends as far as that is proven.
//
// Promise: with a workdir's lock held, nobody who worked under it lives, since the helpers hold the lock too.
// What a killed supervisor left in its run's control group is killed first. A change in .git that stopped
// half-way is finished or undone. The record is cleared when every run's supervisor said that nothing was
// left, when its program could not leave its control group and that is gone, or when the machine was started
// since. Any other record stays.
// Errors: WORKDIR_RECOVERY_REQUIRED. Source: docs/ARCHITECTURE.md, "The writer lease".
#pragma once

#include "bridge/runs/lease.h"
#include "platform/result.h"

namespace repobridge::bridge {

// `root`: the workdir's directory. After success a writer may begin.
Result<void> settle_leftover(runs::LockedWorkdir& locked, int root);

}  // namespace repobridge::bridge
