// What a crash left: interrupted commits finished or undone, records of dead writers cleared where that is
// proven.
//
// Promise: with a workdir's lock held, nobody who worked under it lives, since the helpers hold the lock too.
// A commit that stopped half-way is brought to one of its two ends. A record is cleared when its writer could
// start nothing that outlives it (a commit), or when the machine was started since. Any other record stays,
// and the workdir answers WORKDIR_RECOVERY_REQUIRED. Source: docs/ARCHITECTURE.md, "The writer lease".
#pragma once

#include "bridge/context.h"
#include "bridge/parts.h"
#include "bridge/runs/lease.h"
#include "bridge/wire/asio_fwd.h"

namespace repobridge::bridge {

// Before a writer begins. Leaves the record in place when nothing is proven.
asio::awaitable<Result<void>> settle_leftover(CallContext context, const Parts& parts,
                                              runs::LockedWorkdir& locked, platform::FileIdentity root);

// At the bridge's start, for every workdir: our own locks in .git must not keep git waiting.
asio::awaitable<void> recover_workdirs(asio::any_io_executor executor, const Parts& parts);

}  // namespace repobridge::bridge
