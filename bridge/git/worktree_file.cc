#include "bridge/git/worktree_file.h"

#include <cerrno>

#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using platform::OpenAs;
using policy::RepoPath;

// The directory that holds the file; nullopt when it is not there.
Result<std::optional<platform::UniqueFd>> open_parent(const Repository& repository, const RepoPath& path,
                                                      bool tracked) {
  const std::string parent = path.parent();
  auto fd = platform::open_beneath(repository.root(), parent.empty() ? "." : parent, OpenAs::location);
  if (fd) {
    RB_TRY(const auto facts, platform::facts_of(fd->get()));
    if (facts.is_directory()) return std::optional<platform::UniqueFd>(*std::move(fd));
    if (!facts.is_link()) return std::nullopt;
  } else if (platform::is_absent(fd.error())) {
    return std::nullopt;
  } else if (fd.error().os_code != ELOOP && fd.error().os_code != EXDEV) {
    return fail(std::move(fd).error());
  }
  if (tracked) return std::nullopt;
  return refuse_path(codes::kPathBeyondLink,
                     "a directory of this path is a symbolic link; name the file by its real path", path);
}

Result<void> check_not_in_nested_repository(const Repository& repository, const RepoPath& path) {
  std::string directory;
  const auto components = path.components();
  for (std::size_t i = 0; i + 1 < components.size(); ++i) {
    directory += components[i] + "/";
    const auto fd = platform::open_beneath(repository.root(), directory + ".git", OpenAs::location);
    if (!fd) continue;
    return refuse_path(
        codes::kPathInNestedRepository,
        "this path lies inside another repository within the workdir; make that a workdir of its own", path);
  }
  return {};
}

Result<git_filemode_t> regular_mode(const Repository& repository, git_index* index, const RepoPath& path,
                                    mode_t mode) {
  constexpr mode_t kOwnerMayExecute = 0100;
  const bool trusted = parse_config_bool(repository.config().last("core.filemode")).value_or(true);
  if (trusted) return (mode & kOwnerMayExecute) != 0 ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
  const git_index_entry* tracked = git_index_get_bypath(index, path.bytes().c_str(), 0);
  const bool executable = tracked != nullptr && tracked->mode == GIT_FILEMODE_BLOB_EXECUTABLE;
  return executable ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
}

Failure changed(const RepoPath& path) {
  return refuse_path(codes::kPathChanged,
                     "the file changed while it was read; look at it again, then call again", path);
}

Result<std::string> read_unchanged(int parent, const RepoPath& path, const platform::FileFacts& seen) {
  auto fd = platform::open_beneath(parent, path.name(), OpenAs::readable);
  if (!fd) return changed(path);
  RB_TRY(const auto before, platform::facts_of(fd->get()));
  if (before != seen) return changed(path);
  if (seen.size_bytes > kMaxFileBytes) {
    return refuse_path(codes::kPathTooLarge, "the file is larger than 256 MiB, more than is read here", path);
  }
  RB_TRY(auto bytes, platform::read_regular(fd->get(), kMaxFileBytes));
  RB_TRY(const auto after, platform::facts_of(fd->get()));
  if (after != before || bytes.size() != after.size_bytes) return changed(path);
  return bytes;
}

}  // namespace

Failure refuse_path(const policy::Code& code, std::string message, const RepoPath& path) {
  return policy::refuse(code, std::move(message), policy::Json{{"path", path.text()}});
}

const char* not_looked_at(const git_index_entry& entry) {
  if ((entry.flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0) return "skip-worktree";
  return (entry.flags & GIT_INDEX_ENTRY_VALID) != 0 ? "assume-unchanged" : nullptr;
}

Result<void> check_not_in_submodule(git_index* index, const RepoPath& path) {
  std::string prefix;
  for (const auto& component : path.components()) {
    prefix += (prefix.empty() ? "" : "/") + component;
    const git_index_entry* entry = git_index_get_bypath(index, prefix.c_str(), 0);
    if (entry == nullptr || entry->mode != GIT_FILEMODE_COMMIT) continue;
    return refuse_path(codes::kPathInSubmodule,
                       "this path is a submodule or lies inside one; make the submodule a workdir of its own",
                       path);
  }
  return {};
}

Result<std::optional<WorktreeFile>> read_worktree_file(const Repository& repository, git_index* index,
                                                       Attributes& attributes, const RepoPath& path,
                                                       bool tracked) {
  RB_CHECK(check_not_in_submodule(index, path));
  RB_TRY(const auto parent, open_parent(repository, path, tracked));
  if (!parent) return std::nullopt;
  RB_CHECK(check_not_in_nested_repository(repository, path));
  RB_TRY(const auto facts, platform::facts_at(parent->get(), path.name()));
  if (!facts) return std::nullopt;
  WorktreeFile file{.facts = *facts};
  if (facts->is_link()) {
    file.mode = GIT_FILEMODE_LINK;
    RB_TRY(file.stored, platform::read_link_beneath(parent->get(), path.name()));
    RB_TRY(const auto after, platform::facts_at(parent->get(), path.name()));
    if (after != facts) return changed(path);
    return std::optional<WorktreeFile>(std::move(file));
  }
  if (facts->is_directory()) {
    if (tracked) return std::nullopt;
    return refuse_path(codes::kPathIsDirectory, "this path is a directory; name the files in it one by one",
                       path);
  }
  if (!facts->is_regular()) {
    return refuse_path(codes::kPathUnsupportedType,
                       "this path is a FIFO, a socket or a device, which git cannot hold", path);
  }
  RB_CHECK(attributes.check(path));
  RB_TRY(file.mode, regular_mode(repository, index, path, facts->mode));
  RB_TRY(auto bytes, read_unchanged(parent->get(), path, *facts));
  RB_TRY(file.stored, attributes.to_stored(path, std::move(bytes)));
  return std::optional<WorktreeFile>(std::move(file));
}

}  // namespace repobridge::git
