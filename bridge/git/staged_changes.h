// What the index holds that the last commit does not: view status, view staged_diff and the renames in both.
//
// Promise: in the order of paths; a rename is one change, under its new path. Unmerged paths and files that
// were only announced (`git add -N`) are no staged changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bridge/git/repository.h"

namespace repobridge::git {

struct StagedChange {
  enum class Kind : std::uint8_t { added, modified, deleted, typechange, renamed };
  Kind kind = Kind::modified;
  std::string path;
  std::string old_path;     // "" unless renamed
  unsigned similarity = 0;  // in percent, of a rename
};

// `head_tree` is null before the first commit.
Result<std::vector<StagedChange>> staged_changes(const Repository& repository, git_tree* head_tree,
                                                 git_index* index);

}  // namespace repobridge::git
