// Named files into a private index: what `git add -- FILE` does, with git's refusals and some of ours.
//
// Promise: the index changes in the named paths only. A named file that is gone is removed; a file in the
// place of a directory, or the reverse, only when every tracked path it displaces is named too. Errors:
// REPO_CONFLICTS, REPO_STAGED_STATE, PATH_NOT_FOUND, REPO_PATH_CONFLICT, REPO_PATH_IGNORED, REPO_PATH_SPARSE,
// REPO_HARD_LINK, and those of reading a file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bridge/git/attributes.h"
#include "bridge/git/repository.h"
#include "policy/path_rules.h"
#include "policy/repo_path.h"

namespace repobridge::git {

// Refuses an index that does not equal `head_tree` (null: no commit yet): someone staged something. What
// policy hides is counted in the details and not named.
Result<void> check_nothing_staged(const Repository& repository, git_index* index, git_tree* head_tree,
                                  const policy::PathRules& rules);

// The blobs that named files must be, zeros for a file that must be gone; empty: whatever is there.
using Expected = std::map<policy::RepoPath, git_oid>;

Result<void> stage(const Repository& repository, git_index* index, git_tree* head_tree,
                   const std::vector<policy::RepoPath>& paths, const Expected& expect,
                   const policy::PathRules& rules);

// Entries other than `paths` that were written in the second of the index or later, told by their stat data
// alone, might hide an edit from git, which compares seconds; their size is set to 0 so that git looks at the
// content.
Result<void> smudge_racy_entries(git_index* index, std::int64_t index_modified_ns,
                                 const std::vector<policy::RepoPath>& paths);

}  // namespace repobridge::git
