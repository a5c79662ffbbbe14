// The git side of the four tools, as the bridge sees it: a question to a worker, or a few in turn.
//
// Promise: the bridge itself reads no byte of the repository here. commit() holds git's locks while the
// worker works and leaves the repository as it was or fully committed. Errors: those of the worker;
// REPO_HEAD_LOCKED, REPO_INDEX_LOCKED.
#pragma once

#include "bridge/context.h"
#include "bridge/parts.h"
#include "bridge/runs/lease.h"
#include "bridge/wire/asio_fwd.h"
#include "policy/call.h"

namespace repobridge::git {

asio::awaitable<Result<policy::Json>> view_status(bridge::CallContext context, const bridge::Parts& parts,
                                                  const policy::Workdir& workdir);
asio::awaitable<Result<policy::Json>> view_diff(bridge::CallContext context, const bridge::Parts& parts,
                                                const policy::Workdir& workdir, policy::InspectCall call);
asio::awaitable<Result<policy::Json>> commit(bridge::CallContext context, const bridge::Parts& parts,
                                             const runs::Lease& lease, const policy::Workdir& workdir,
                                             policy::CommitCall call);

// Finishes or undoes a commit that a crash interrupted, if there is a journal of one. With the workdir's lock
// held: `lease` is its descriptor.
asio::awaitable<Result<void>> recover_commit(bridge::CallContext context, const bridge::Parts& parts,
                                             std::string journal_path, int lease);

// Where the journal of a workdir's commit stands; the root is told apart by its device and inode.
std::string commit_journal(const std::string& state_dir, const platform::FileIdentity& root);

}  // namespace repobridge::git
