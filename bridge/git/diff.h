// Views diff and staged_diff: what differs in the named files, one by one.
//
// Promise: diff compares the index with the work tree, staged_diff HEAD with the index; a named untracked
// file shows as added, a staged rename as renamed. Nothing else than the named files is shown, and a file
// that policy hides shows under no other name. A file that does not differ is left out. `new_oid` is the blob
// that a commit of the file would store, zeros when it is gone. Errors: PATH_NOT_FOUND when a named file is
// on neither side; REPO_CONFLICTS; DENIED_PATH for a hidden file under a new name; those of reading a file.
// Source: docs/PROTOCOL.md section 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bridge/git/repository.h"
#include "policy/json.h"
#include "policy/path_rules.h"
#include "policy/repo_path.h"

namespace repobridge::git {

enum class DiffOf : std::uint8_t { worktree, staged };

struct DiffOrder {
  DiffOf of = DiffOf::worktree;
  std::vector<policy::RepoPath> paths;
  policy::PathRules rules;
  std::size_t max_patch_bytes = 0;  // of all files together
};

Result<policy::Json> diff(const Repository& repository, const DiffOrder& order);

}  // namespace repobridge::git
