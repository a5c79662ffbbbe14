// Where the repository's configuration says its branch goes, and, when it has arrived, the note of that.
//
// Promise: plan_push() only reads; nobody has allowed the destination yet. must_track() and track() are the
// worker's part in moving the tracking branch, after the remote said yes. Errors: REPO_DETACHED_HEAD,
// REPO_NOTHING_TO_PUSH, REPO_NO_UPSTREAM, REPO_AMBIGUOUS_REMOTE, REPO_UNSUPPORTED_LAYOUT.
// Source: docs/ARCHITECTURE.md, "A push"; git-push(1).
#pragma once

#include <string>

#include "bridge/git/repository.h"
#include "policy/json.h"

namespace repobridge::git {

// {"url", "remote_urls", "branch", "upstream_branch", "reference", "tracking", "oid", "shallow"}: strings;
// `remote_urls` is a list of those of all remotes, `shallow` the checked text of the shallow file or null,
// `tracking` may be empty.
Result<policy::Json> plan_push(const Repository& repository);

// Whether the tracking branch has to move, which is then possible.
Result<bool> must_track(const Repository& repository, const std::string& tracking, const git_oid& oid);
// With its lock held: the line in its log. The bridge makes the move itself.
Result<void> track(const Repository& repository, const std::string& tracking, const git_oid& oid);

}  // namespace repobridge::git
