// What happened to a pinned file since it was reviewed: the version in the branch's history that has the
// pinned digest, and the difference from it to the file as it is now.
//
// Promise: a stored version is taken only when its bytes have the digest; filters and line endings are not
// applied, since pins are of the bytes of the working tree. The latest 5000 commits are looked at, and stored
// versions of 16 MiB at most, 256 MiB of them together; nothing is written. Errors: REPO_PATH_TOO_LARGE (the
// file now), and those of History. Source: docs/OPERATIONS.md, "Drift".
#pragma once

#include <cstddef>
#include <string>

#include "bridge/git/repository.h"
#include "policy/json.h"
#include "policy/repo_path.h"

namespace repobridge::git {

struct PinnedFile {
  policy::RepoPath path;
  std::string digest;  // SHA-256, lower-case hex
};

// {"found": false}, or {"found": true, "commit", "binary", "patch", "truncated"}: the latest commit that has
// the pinned version.
Result<policy::Json> since_pinned(const Repository& repository, const PinnedFile& pinned,
                                  std::size_t max_patch_bytes);

}  // namespace repobridge::git
