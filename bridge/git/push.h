// push_repo: the current branch to its upstream, and nowhere else.
//
// Promise: branch and destination, which come from the repository's configuration, the destination as the
// user's own configuration rewrites it, were allowed by policy before anything spoke to a remote. git runs on
// a transport repository of ours whose objects are the real ones, so the repository's own configuration and
// hooks have no part in it. What would be sent was looked at first. The commit that was captured is the one
// that is pushed. The tracking branch moves after the remote said yes. Nobody is ever asked for anything.
// Errors: REPO_PUSH_*, REPO_NO_UPSTREAM, REPO_AMBIGUOUS_REMOTE, REPO_DETACHED_HEAD, REPO_NOTHING_TO_PUSH.
// Source: docs/ARCHITECTURE.md, "A push"; docs/POLICY.md, "Push".
#pragma once

#include "bridge/context.h"
#include "bridge/parts.h"
#include "bridge/runs/lease.h"
#include "bridge/runs/supervised_run.h"
#include "bridge/wire/asio_fwd.h"

namespace repobridge::git {

asio::awaitable<runs::Written> push(bridge::CallContext context, bridge::Parts& parts,
                                    const runs::Lease& lease, const policy::Workdir& workdir);

}  // namespace repobridge::git
