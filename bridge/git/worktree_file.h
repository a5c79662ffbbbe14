// One named file of the work tree, read once and by us: what a diff shows and a commit stores are these
// bytes.
//
// Promise: every component was opened beneath the root without a link on the way; the file did not change
// between the first look and the last. A file inside a submodule, a nested repository or a directory reached
// through a link is refused, as git refuses it.
// Errors: REPO_PATH_BEYOND_LINK, REPO_PATH_IN_SUBMODULE, REPO_PATH_IN_NESTED_REPOSITORY,
// REPO_PATH_IS_DIRECTORY, REPO_PATH_UNSUPPORTED_TYPE, REPO_PATH_CHANGED, REPO_PATH_TOO_LARGE, and those of
// Attributes.
#pragma once

#include <optional>
#include <string>

#include "bridge/git/attributes.h"
#include "bridge/git/repository.h"
#include "platform/files.h"
#include "policy/codes.h"
#include "policy/repo_path.h"

namespace repobridge::git {

inline constexpr std::size_t kMaxFileBytes = 256U << 20U;

struct WorktreeFile {
  platform::FileFacts facts;
  git_filemode_t mode = GIT_FILEMODE_BLOB;
  std::string stored;  // the bytes as git stores them: line endings converted; a link's target
};

// nullopt: there is no such file. A `tracked` path is gone, too, where a directory has taken its place or a
// link that of its directory.
Result<std::optional<WorktreeFile>> read_worktree_file(const Repository& repository, git_index* index,
                                                       Attributes& attributes, const policy::RepoPath& path,
                                                       bool tracked);

// What the index tells git not to look at in the work tree: "skip-worktree", "assume-unchanged" or nullptr.
const char* not_looked_at(const git_index_entry& entry);

// Where the tree of the index makes `path` impossible: a submodule above it or in its place.
Result<void> check_not_in_submodule(git_index* index, const policy::RepoPath& path);

Failure refuse_path(const policy::Code& code, std::string message, const policy::RepoPath& path);

}  // namespace repobridge::git
