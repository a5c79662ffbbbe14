// Which new file was which old one: git's rename detection, step by step, so that the answer is git's.
//
// First identical contents, then the one new and the one old file of a name, then whatever is most alike;
// half of a file must be the same. Above 1000 by 1000 files left, only the first two. Source: git's
// diffcore-rename.c; git-diff(1), -M.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bridge/git/repository.h"

namespace repobridge::git {

struct Rename {
  std::string old_path;
  unsigned similarity = 0;  // in percent
};

// Keyed by the new path.
using Renames = std::map<std::string, Rename, std::less<>>;

struct RenameSide {
  std::string path;
  git_oid oid{};
  unsigned mode = 0;
};

// Both sorted by path.
Result<Renames> find_renames(const Repository& repository, std::vector<RenameSide> gone,
                             std::vector<RenameSide> fresh);

}  // namespace repobridge::git
