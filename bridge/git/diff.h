// Views diff and staged_diff: what differs in the named files, one by one.
//
// Promise: diff compares the index with the work tree, staged_diff HEAD with the index; a named untracked
// file shows as added. Nothing else than the named files is read. A file that does not differ is left out.
// `new_oid` is the blob that a commit of the file would store. Errors: PATH_NOT_FOUND when a named file is on
// neither side; REPO_CONFLICTS; those of reading a file. Source: docs/PROTOCOL.md section 5.
#pragma once

#include <cstddef>
#include <vector>

#include "bridge/git/repository.h"
#include "policy/json.h"
#include "policy/repo_path.h"

namespace repobridge::git {

enum class DiffOf : std::uint8_t { worktree, staged };

Result<policy::Json> diff(const Repository& repository, DiffOf what,
                          const std::vector<policy::RepoPath>& paths, std::size_t max_patch_bytes);

}  // namespace repobridge::git
