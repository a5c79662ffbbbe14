// What a push would send, looked at before anything is sent.
//
// Promise: the commits are those that the remote lacks, by what the remote itself said it has. Every path
// that one of them changes and every blob that it adds is looked at; a merge counts for what it has like none
// of its parents. Errors: REPO_PUSH_NON_FAST_FORWARD, REPO_PUSH_TOO_MANY_COMMITS, REPO_PUSH_DENIED_PATH,
// REPO_PUSH_CI_CHANGE, REPO_PUSH_LFS_UNSUPPORTED, REPO_PUSH_SECRET; details.commit, and details.path where
// the path itself may be named. Source: docs/POLICY.md, "Push"; docs/ARCHITECTURE.md, "A push".
#pragma once

#include <optional>
#include <vector>

#include "bridge/git/repository.h"
#include "policy/json.h"
#include "policy/path_rules.h"

namespace repobridge::git {

struct Outgoing {
  git_oid oid{};                       // the commit that is to be pushed
  std::optional<std::string> shallow;  // the plan's: what git will be told of the history's end
  std::optional<git_oid> remote_tip;   // of the branch that is pushed to; absent: it is new there
  std::vector<git_oid> remote_heads;   // of every branch there, this one included
};

struct OutgoingRules {
  policy::PathRules paths;
  bool ci_changes_allowed = false;
};

// {"commits": [{"oid", "subject", "paths_count"}], "up_to_date"}, oldest first.
Result<policy::Json> inspect_outgoing(const Repository& repository, const Outgoing& outgoing,
                                      const OutgoingRules& rules);

// The commits alone, at most `most`, of what is behind `oid` and not behind `known`; nothing is judged.
Result<policy::Json> list_outgoing(const Repository& repository, const git_oid& oid, const git_oid& known,
                                   std::size_t most);

}  // namespace repobridge::git
