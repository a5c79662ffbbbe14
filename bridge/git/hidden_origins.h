// Files that policy hides and that have left their place: a new file may be one of them under another name,
// and a rename must not make visible what a rule hides.
//
// Promise: check() refuses a file whose content equals that of such a file, or shares at least half of the
// longer one's lines with it. What was changed beyond recognition is not recognised; docs/SECURITY.md says
// so. Errors: DENIED_PATH.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bridge/git/repository.h"
#include "policy/path_rules.h"
#include "policy/repo_path.h"

namespace repobridge::git {

class HiddenOrigins {
 public:
  // Tracked files that are gone from the work tree.
  static Result<HiddenOrigins> of_worktree(const Repository& repository, git_index* index,
                                           const policy::PathRules& rules);
  // Files of the last commit that are gone from the index.
  static Result<HiddenOrigins> of_index(const Repository& repository, git_tree* head_tree, git_index* index,
                                        const policy::PathRules& rules);

  // For a file that is new at its path.
  [[nodiscard]] Result<void> check(const policy::RepoPath& path, std::string_view content) const;

 private:
  Result<void> add(const Repository& repository, const git_oid& oid);
  std::vector<std::string> contents_;
};

}  // namespace repobridge::git
