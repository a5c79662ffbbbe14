// Which staged new file was which old one, by git's own measure.
// Source: git-diff(1), -M; libgit2's git_diff_find_similar().
#pragma once

#include <map>
#include <string>

#include "bridge/git/repository.h"

namespace repobridge::git {

struct Rename {
  std::string old_path;
  unsigned similarity = 0;  // in percent
};

// Keyed by the new path.
using Renames = std::map<std::string, Rename, std::less<>>;

Result<Renames> staged_renames(const Repository& repository, git_tree* head_tree, git_index* index);

}  // namespace repobridge::git
