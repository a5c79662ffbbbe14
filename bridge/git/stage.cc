#include "bridge/git/stage.h"

#include <algorithm>

#include "bridge/git/hidden_origins.h"
#include "bridge/git/worktree_file.h"
#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::RepoPath;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostPathsNamed = 20;

const git_index_entry* find(git_index* index, const std::string& path) {
  return git_index_get_bypath(index, path.c_str(), 0);
}

bool named(const std::vector<RepoPath>& paths, std::string_view path) {
  return std::ranges::any_of(paths, [&](const RepoPath& one) { return one.bytes() == path; });
}

// The tracked paths below `directory`.
std::vector<std::string> tracked_below(git_index* index, const std::string& directory) {
  const std::string prefix = directory + "/";
  std::vector<std::string> found;
  std::size_t at = 0;
  if (git_index_find_prefix(&at, index, prefix.c_str()) != 0) return found;
  for (; at < git_index_entrycount(index); ++at) {
    const std::string path = git_index_get_byindex(index, at)->path;
    if (!path.starts_with(prefix)) break;
    found.push_back(path);
  }
  return found;
}

Result<void> remove(git_index* index, const std::string& path) {
  return git_check(git_index_remove(index, path.c_str(), 0), "stage a removal");
}

// Tracked paths that cannot stay beside `path` leave the index, if the caller named them.
Result<void> displace(git_index* index, const RepoPath& path, const std::vector<RepoPath>& paths,
                      const policy::PathRules& rules) {
  auto displaced = tracked_below(index, path.bytes());
  std::string above;
  for (const auto& component : path.components()) {
    above += (above.empty() ? "" : "/") + component;
    if (above != path.bytes() && find(index, above) != nullptr) displaced.push_back(above);
  }
  for (const auto& other : displaced) {
    if (!named(paths, other)) {
      policy::Json details{{"path", path.text()}};
      if (rules.visible(other)) details["displaces"] = policy::path_text(other);
      return policy::refuse(
          codes::kPathConflict,
          "this path takes the place of another tracked one; name that one in the same commit",
          std::move(details));
    }
    RB_CHECK(remove(index, other));
  }
  return {};
}

// libgit2 would follow a link, which git does not, and wait for ever at a FIFO.
Result<void> check_ignore_files(const Repository& repository, const RepoPath& path) {
  std::string directory;
  for (const auto& component : path.components()) {
    const std::string name = directory + ".gitignore";
    const auto fd = platform::open_beneath(repository.root(), name, platform::OpenAs::location);
    const auto facts = fd ? platform::facts_of(fd->get()) : Result<platform::FileFacts>(fail(fd.error()));
    const bool plain = facts ? facts->is_regular() : platform::is_absent(facts.error());
    if (!plain) {
      return policy::refuse(
          codes::kUnsafeLayout,
          "an ignore file on the way to this path is a link or no file at all; replace it by "
          "a real file",
          policy::Json{{"place", policy::path_text(name)}});
    }
    directory += component + "/";
  }
  return {};
}

Result<void> check_not_ignored(const Repository& repository, git_index* index, const RepoPath& path) {
  if (find(index, path.bytes()) != nullptr) return {};  // tracked files may match an ignore rule
  RB_CHECK(check_ignore_files(repository, path));
  int ignored = 0;
  RB_CHECK(git_check(git_ignore_path_is_ignored(&ignored, repository.get(), path.bytes().c_str()),
                     "read ignore rules"));
  if (ignored == 0) return {};
  return refuse_path(codes::kPathIgnored,
                     "git ignores this untracked file; change .gitignore or leave it out", path);
}

git_index_entry entry_for(const RepoPath& path, const WorktreeFile& file, const git_oid& oid) {
  const auto& facts = file.facts;
  git_index_entry entry{};
  entry.path = path.bytes().c_str();
  entry.id = oid;
  entry.mode = static_cast<std::uint32_t>(file.mode);
  entry.mtime.seconds = static_cast<std::int32_t>(facts.modified_ns / kSecond);
  entry.mtime.nanoseconds = static_cast<std::uint32_t>(facts.modified_ns % kSecond);
  entry.ctime.seconds = static_cast<std::int32_t>(facts.changed_ns / kSecond);
  entry.ctime.nanoseconds = static_cast<std::uint32_t>(facts.changed_ns % kSecond);
  entry.dev = static_cast<std::uint32_t>(facts.identity.device);
  entry.ino = static_cast<std::uint32_t>(facts.identity.inode);
  entry.uid = facts.owner;
  entry.gid = facts.group;
  entry.file_size = static_cast<std::uint32_t>(facts.size_bytes);
  return entry;
}

class Stager {
 public:
  Stager(const Repository& repository, git_index* index, git_tree* head_tree,
         const std::vector<RepoPath>& paths, const Expected& expect, const policy::PathRules& rules)
      : repository_(&repository),
        index_(index),
        head_tree_(head_tree),
        paths_(&paths),
        expect_(&expect),
        rules_(&rules),
        attributes_(repository, index) {}

  Result<void> stage(const RepoPath& path) {
    const git_index_entry* entry = find(index_, path.bytes());
    if (const char* flag = entry != nullptr ? not_looked_at(*entry) : nullptr; flag != nullptr) {
      return policy::refuse(
          codes::kPathSparse,
          "the index tells git not to look at this file (details.flag; a sparse checkout does that); unmark "
          "it with git update-index to commit it",
          policy::Json{{"path", path.text()}, {"flag", flag}});
    }
    const bool tracked = entry != nullptr || in_head(path);
    RB_TRY(const auto file, read_worktree_file(*repository_, index_, attributes_, path, tracked));
    return file ? add(path, *file) : remove_named(path);
  }

 private:
  // As a file: a directory of that name tracks nothing of its own.
  [[nodiscard]] bool in_head(const RepoPath& path) const {
    OwnedTreeEntry entry;
    const bool found =
        head_tree_ != nullptr && git_tree_entry_bypath(into(entry), head_tree_, path.bytes().c_str()) == 0;
    return found && git_tree_entry_type(entry.get()) == GIT_OBJECT_BLOB;
  }

  Result<void> remove_named(const RepoPath& path) {
    RB_CHECK(check_expected(path, git_oid{}));
    if (find(index_, path.bytes()) != nullptr) return remove(index_, path.bytes());
    // Displaced from the index by a path named before it; it is in the commit as a removal.
    if (in_head(path)) return {};
    return refuse_path(codes::kPathNotFound, "there is no such file, tracked or in the work tree", path);
  }

  Result<void> add(const RepoPath& path, const WorktreeFile& file) {
    if (file.facts.is_regular() && file.facts.links > 1) {
      return refuse_path(
          codes::kHardLink,
          "the file has more than one name (a hard link), so the rules for paths cannot tell whose "
          "content it is; copy it over itself, then commit",
          path);
    }
    RB_CHECK(check_not_ignored(*repository_, index_, path));
    if (find(index_, path.bytes()) == nullptr) RB_CHECK(check_origin(path, file));
    RB_CHECK(displace(index_, path, *paths_, *rules_));
    git_oid oid{};
    RB_CHECK(git_check(git_odb_hash(&oid, file.stored.data(), file.stored.size(), GIT_OBJECT_BLOB),
                       "hash a file"));
    RB_CHECK(check_expected(path, oid));
    RB_CHECK(git_check(
        git_blob_create_from_buffer(&oid, repository_->get(), file.stored.data(), file.stored.size()),
        "store a file"));
    const git_index_entry entry = entry_for(path, file, oid);
    return git_check(git_index_add(index_, &entry), "stage a file");
  }

  Result<void> check_origin(const RepoPath& path, const WorktreeFile& file) {
    // Looked for once, before the index changes, and only when something new is added.
    if (!origins_) {
      RB_TRY(origins_, HiddenOrigins::of_worktree(*repository_, index_, *rules_));
    }
    return origins_->check(path, file.stored);
  }

  [[nodiscard]] Result<void> check_expected(const RepoPath& path, const git_oid& oid) const {
    const auto expected = expect_->find(path);
    if (expected == expect_->end() || git_oid_equal(&expected->second, &oid) != 0) return {};
    return policy::refuse(
        codes::kExpectMismatch,
        "the file is no longer what the diff showed (details.new_oid is what it is now); look at the "
        "diff again",
        policy::Json{{"path", path.text()}, {"new_oid", hex_of(oid)}});
  }

  const Repository* repository_;
  git_index* index_;
  git_tree* head_tree_;
  const std::vector<RepoPath>* paths_;
  const Expected* expect_;
  const policy::PathRules* rules_;
  Attributes attributes_;
  std::optional<HiddenOrigins> origins_;
};

}  // namespace

Result<void> check_nothing_staged(const Repository& repository, git_index* index, git_tree* head_tree,
                                  const policy::PathRules& rules) {
  if (git_index_has_conflicts(index) != 0) {
    return policy::refuse(codes::kConflicts,
                          "the index has unmerged paths; resolve the conflicts with git first");
  }
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_DISABLE_PATHSPEC_MATCH;
  OwnedDiff diff;
  RB_CHECK(git_check(git_diff_tree_to_index(into(diff), repository.get(), head_tree, index, &options),
                     "compare the index with the last commit"));
  policy::Json paths = policy::Json::array();
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const char* path = git_diff_get_delta(diff.get(), i)->new_file.path;
    if (!rules.visible(path)) {
      ++hidden;
    } else if (paths.size() < kMostPathsNamed) {
      paths.push_back(policy::path_text(path));
    }
  }
  if (paths.empty() && hidden == 0) return {};
  return policy::refuse(
      codes::kStagedState,
      "something is staged already, and a commit here holds only the files it names; unstage it "
      "(git restore --staged) or commit it with git",
      policy::Json{{"paths", std::move(paths)}, {"hidden_count", hidden}});
}

Result<void> stage(const Repository& repository, git_index* index, git_tree* head_tree,
                   const std::vector<RepoPath>& paths, const Expected& expect,
                   const policy::PathRules& rules) {
  Stager stager(repository, index, head_tree, paths, expect, rules);
  for (const auto& path : paths) RB_CHECK(stager.stage(path));
  return {};
}

Result<void> smudge_racy_entries(git_index* index, std::int64_t index_modified_ns,
                                 const std::vector<RepoPath>& paths) {
  struct Racy {
    std::string path;
    git_index_entry entry;
  };
  std::vector<Racy> racy;
  const auto index_second = static_cast<std::int32_t>(index_modified_ns / kSecond);
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index, i);
    const bool candidate = entry->mtime.seconds >= index_second && entry->file_size != 0 &&
                           entry->mode != GIT_FILEMODE_COMMIT && !named(paths, entry->path);
    if (candidate) racy.push_back({.path = entry->path, .entry = *entry});
  }
  for (auto& one : racy) {
    one.entry.path = one.path.c_str();
    one.entry.file_size = 0;
    RB_CHECK(git_check(git_index_add(index, &one.entry), "mark an entry for a closer look"));
  }
  return {};
}

}  // namespace repobridge::git
