#include "bridge/git/pinned_version.h"

#include <deque>

#include "bridge/git/history.h"
#include "bridge/git/patch.h"
#include "bridge/git/worktree_file.h"
#include "platform/digest.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

using policy::Json;

constexpr std::size_t kMostCommits = 5000;
constexpr std::size_t kMaxVersionBytes = std::size_t{16} << 20U;
constexpr std::size_t kMaxSearchedBytes = std::size_t{256} << 20U;

struct Version {
  git_oid commit{};
  Side side;
};

// Goes back from the branch's commit, nearest first, and looks at each stored version once.
class Search {
 public:
  Search(const Repository& repository, const History& history, const PinnedFile& pinned)
      : repository_(&repository), history_(&history), pinned_(&pinned) {}

  Result<std::optional<Version>> from(const git_oid& head) {
    OwnedCommit first;
    RB_CHECK(git_check(git_commit_lookup(into(first), repository_->get(), &head), "read the last commit"));
    seen_commits_.insert(head);
    open_.push_back(std::move(first));
    for (std::size_t looked = 0;
         !open_.empty() && looked < kMostCommits && searched_bytes_ < kMaxSearchedBytes; ++looked) {
      const OwnedCommit commit = std::move(open_.front());
      open_.pop_front();
      RB_TRY(auto side, pinned_side(commit.get()));
      if (side) return Version{.commit = *git_commit_id(commit.get()), .side = *std::move(side)};
      RB_CHECK(open_parents(commit.get()));
    }
    return std::nullopt;
  }

 private:
  Result<void> open_parents(git_commit* commit) {
    RB_TRY(auto parents, history_->parents(commit));
    for (auto& parent : parents) {
      if (seen_commits_.insert(*git_commit_id(parent.get())).second) open_.push_back(std::move(parent));
    }
    return {};
  }

  // The file as the commit has it, when that is what was pinned.
  Result<std::optional<Side>> pinned_side(git_commit* commit) {
    OwnedTree tree;
    RB_CHECK(git_check(git_commit_tree(into(tree), commit), "read a commit's tree"));
    OwnedTreeEntry entry;
    const int code = git_tree_entry_bypath(into(entry), tree.get(), pinned_->path.bytes().c_str());
    if (code == GIT_ENOTFOUND) return std::nullopt;
    RB_CHECK(git_check(code, "read a commit's tree"));
    const git_oid& oid = *git_tree_entry_id(entry.get());
    const bool file = git_tree_entry_type(entry.get()) == GIT_OBJECT_BLOB &&
                      git_tree_entry_filemode(entry.get()) != GIT_FILEMODE_LINK;
    if (!file || !seen_blobs_.insert(oid).second) return std::nullopt;
    return read_pinned(oid, git_tree_entry_filemode(entry.get()));
  }

  Result<std::optional<Side>> read_pinned(const git_oid& oid, git_filemode_t mode) {
    OwnedBlob blob;
    RB_CHECK(git_check(git_blob_lookup(into(blob), repository_->get(), &oid), "read a stored file"));
    const auto size = static_cast<std::size_t>(git_blob_rawsize(blob.get()));
    if (size > kMaxVersionBytes) return std::nullopt;
    searched_bytes_ += size;
    std::string bytes(static_cast<const char*>(git_blob_rawcontent(blob.get())), size);
    if (platform::sha256_hex(bytes) != pinned_->digest) return std::nullopt;
    return Side{.path = pinned_->path.bytes(), .mode = mode, .oid = oid, .bytes = std::move(bytes)};
  }

  const Repository* repository_;
  const History* history_;
  const PinnedFile* pinned_;
  std::deque<OwnedCommit> open_;
  OidSet seen_commits_;
  OidSet seen_blobs_;
  std::size_t searched_bytes_ = 0;
};

// The file as it lies there; absent when it does not.
Result<std::optional<Side>> side_now(const Repository& repository, const policy::RepoPath& path,
                                     git_filemode_t mode) {
  const auto bytes = platform::read_beneath_if_present(repository.root(), path.bytes(), kMaxVersionBytes);
  if (!bytes && bytes.error().code == "FILE_TOO_LARGE") {
    return refuse_path(policy::codes::kPathTooLarge, "the file is larger than 16 MiB", path);
  }
  if (!bytes) return fail(bytes.error());
  if (!*bytes) return std::nullopt;
  Side side{.path = path.bytes(), .mode = mode, .bytes = **bytes};
  RB_CHECK(git_check(git_odb_hash(&side.oid, side.bytes.data(), side.bytes.size(), GIT_OBJECT_BLOB),
                     "hash a file"));
  return side;
}

}  // namespace

Result<Json> since_pinned(const Repository& repository, const PinnedFile& pinned,
                          std::size_t max_patch_bytes) {
  RB_TRY(const auto head, repository.head());
  if (!head.oid) return Json{{"found", false}};
  RB_TRY(const auto history, History::of(repository));
  RB_TRY(auto version, Search(repository, history, pinned).from(*head.oid));
  if (!version) return Json{{"found", false}};
  Sides sides;
  RB_TRY(sides.after, side_now(repository, pinned.path, version->side.mode));
  sides.before = std::move(version->side);
  RB_TRY(auto patch, make_patch(sides, std::nullopt, max_patch_bytes));
  return Json{{"found", true},
              {"commit", hex_of(version->commit)},
              {"binary", patch.binary},
              {"patch", std::move(patch.text)},
              {"truncated", patch.truncated}};
}

}  // namespace repobridge::git
