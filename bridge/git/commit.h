// A commit of exactly the named files, in the part that touches the repository's bytes. Its parent, which
// parses nothing, holds the locks and makes the two moves (bridge/git/repository_guard.h).
//
// Promise: the commit holds what the named files held when they were read, and nothing else that differs from
// HEAD; what someone staged before is refused, not absorbed. No hook, filter, template or signature has a
// part in it. build() makes objects, lines in the logs and the new index in the scratch directory; the parent
// then replaces the index and moves the branch, which nobody could move meanwhile. Errors:
// REPO_DETACHED_HEAD, REPO_OPERATION_IN_PROGRESS, REPO_CONFLICTS, REPO_STAGED_STATE, REPO_NOTHING_TO_COMMIT,
// REPO_IDENTITY_MISSING, REPO_HEAD_MOVED, PATH_NOT_FOUND, REPO_PATH_*, REPO_HARD_LINK. Source:
// docs/ARCHITECTURE.md, "A commit".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridge/git/repository.h"
#include "bridge/git/stage.h"
#include "policy/json.h"
#include "policy/path_rules.h"
#include "policy/policy.h"
#include "policy/repo_path.h"

namespace repobridge::git {

struct CommitOrder {
  std::vector<policy::RepoPath> paths;
  std::string message;
  Expected expect;
  policy::PathRules rules;
  std::optional<policy::GitIdentity> identity;
};

struct BuiltCommit {
  git_oid oid{};
  policy::Json summary;  // the answer's data
};

class CommitBuilder {
 public:
  // Looks whether a commit is possible at all. Before any lock, so that a refusal costs nothing.
  static Result<CommitBuilder> begin(const Repository& repository, CommitOrder order);

  [[nodiscard]] const Head& head() const { return head_; }

  // With the locks of HEAD, its branch and the index held. `index_path`: where the new index is to be
  // written, in a directory of ours.
  Result<BuiltCommit> build(const std::string& index_path);

 private:
  CommitBuilder(const Repository& repository, CommitOrder order)
      : repository_(&repository), order_(std::move(order)) {}
  Result<void> read_signature();
  Result<void> check_head_unmoved();
  Result<void> read_head_tree();
  Result<void> log(const git_oid& commit);

  const Repository* repository_;
  CommitOrder order_;
  Head head_;
  OwnedSignature signature_;
  OwnedCommit parent_;
  OwnedTree head_tree_;
};

}  // namespace repobridge::git
