// What a push would send, looked at before anything is sent.
//
// Promise: plan_push() reads from the repository's configuration where the branch goes; nobody has allowed it
// yet. inspect_outgoing() walks the commits that the remote lacks, by what the remote itself said it has, and
// refuses when one of them changes a denied path. track() moves the tracking branch after the remote said
// yes. Errors: REPO_DETACHED_HEAD, REPO_NOTHING_TO_PUSH, REPO_NO_UPSTREAM, REPO_AMBIGUOUS_REMOTE,
// REPO_PUSH_NON_FAST_FORWARD, REPO_PUSH_DENIED_PATH, REPO_PUSH_TOO_MANY_COMMITS.
// Source: docs/ARCHITECTURE.md, "A push"; git-push(1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridge/git/repository.h"
#include "policy/json.h"
#include "policy/path_rules.h"

namespace repobridge::git {

// {"url", "branch", "upstream_branch", "reference", "tracking", "oid", "shallow"}: strings; `shallow` is the
// checked text of the shallow file or null, `tracking` may be empty.
Result<policy::Json> plan_push(const Repository& repository);

struct RemoteState {
  std::optional<git_oid> tip;  // of the branch that is pushed to; absent: it is new there
  std::vector<git_oid> heads;  // of every branch there, this one included
};

// {"commits": [{"oid", "subject", "paths_count"}], "up_to_date"}, oldest first.
Result<policy::Json> inspect_outgoing(const Repository& repository, const git_oid& oid,
                                      const RemoteState& remote, const policy::PathRules& rules);

Result<void> track(const Repository& repository, const std::string& tracking, const git_oid& oid);

}  // namespace repobridge::git
