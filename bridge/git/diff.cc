#include "bridge/git/diff.h"

#include "bridge/git/attributes.h"
#include "bridge/git/patch.h"
#include "bridge/git/worktree_file.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;
using policy::RepoPath;

struct FileDiff {
  RepoPath path;
  std::optional<Side> before;
  std::optional<Side> after;
};

class Differ {
 public:
  static Result<Differ> make(const Repository& repository) {
    Differ differ(repository);
    RB_TRY(differ.index_, repository.read_index());
    differ.attributes_.emplace(repository, differ.index_.index.get());
    RB_TRY(const auto head, repository.head());
    if (!head.oid) return differ;
    OwnedCommit commit;
    RB_CHECK(
        git_check(git_commit_lookup(into(commit), repository.get(), &*head.oid), "read the last commit"));
    RB_CHECK(
        git_check(git_commit_tree(into(differ.head_tree_), commit.get()), "read the last commit's tree"));
    return differ;
  }

  Result<FileDiff> sides(const RepoPath& path, DiffOf what) {
    RB_CHECK(check_not_conflicted(path));
    FileDiff file{.path = path};
    RB_TRY(auto in_index, from_index(path));
    if (what == DiffOf::staged) {
      RB_TRY(file.before, from_head(path));
      file.after = std::move(in_index);
    } else {
      file.before = std::move(in_index);
      RB_TRY(file.after, from_worktree(path));
    }
    if (!file.before && !file.after) {
      return refuse_path(codes::kPathNotFound,
                         "there is no such file on either side of this diff; view status lists what differs",
                         path);
    }
    return file;
  }

  [[nodiscard]] const Attributes& attributes() const { return *attributes_; }

 private:
  explicit Differ(const Repository& repository) : repository_(&repository) {}

  Result<void> check_not_conflicted(const RepoPath& path) {
    const git_index_entry* ancestor = nullptr;
    const git_index_entry* ours = nullptr;
    const git_index_entry* theirs = nullptr;
    const int code =
        git_index_conflict_get(&ancestor, &ours, &theirs, index_.index.get(), path.bytes().c_str());
    if (code == GIT_ENOTFOUND) return {};
    return refuse_path(codes::kConflicts,
                       "the file has unmerged changes; resolve the conflict with git first", path);
  }

  Result<Side> read_blob(const RepoPath& path, const git_oid& oid, git_filemode_t mode) {
    OwnedBlob blob;
    RB_CHECK(git_check(git_blob_lookup(into(blob), repository_->get(), &oid), "read a stored file"));
    return Side{.path = path.bytes(),
                .mode = mode,
                .oid = oid,
                .bytes = std::string(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                                     static_cast<std::size_t>(git_blob_rawsize(blob.get())))};
  }

  Result<std::optional<Side>> from_index(const RepoPath& path) {
    RB_CHECK(check_not_in_submodule(index_.index.get(), path));
    const git_index_entry* entry = git_index_get_bypath(index_.index.get(), path.bytes().c_str(), 0);
    const bool announced_only =
        entry != nullptr && (entry->flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) != 0;
    if (entry == nullptr || announced_only) return std::nullopt;
    RB_TRY(auto side, read_blob(path, entry->id, static_cast<git_filemode_t>(entry->mode)));
    return std::optional<Side>(std::move(side));
  }

  Result<std::optional<Side>> from_head(const RepoPath& path) {
    if (!head_tree_) return std::nullopt;
    OwnedTreeEntry entry;
    const int code = git_tree_entry_bypath(into(entry), head_tree_.get(), path.bytes().c_str());
    if (code == GIT_ENOTFOUND) return std::nullopt;
    RB_CHECK(git_check(code, "read the last commit's tree"));
    if (git_tree_entry_type(entry.get()) != GIT_OBJECT_BLOB) return std::nullopt;
    RB_TRY(auto side, read_blob(path, *git_tree_entry_id(entry.get()), git_tree_entry_filemode(entry.get())));
    return std::optional<Side>(std::move(side));
  }

  Result<std::optional<Side>> from_worktree(const RepoPath& path) {
    const git_index_entry* entry = git_index_get_bypath(index_.index.get(), path.bytes().c_str(), 0);
    if (entry != nullptr && (entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0)
      return from_index(path);
    RB_TRY(auto file, read_worktree_file(*repository_, index_.index.get(), *attributes_, path));
    if (!file) return std::nullopt;
    Side side{.path = path.bytes(), .mode = file->mode, .bytes = std::move(file->stored)};
    RB_CHECK(git_check(git_odb_hash(&side.oid, side.bytes.data(), side.bytes.size(), GIT_OBJECT_BLOB),
                       "hash a file"));
    return std::optional<Side>(std::move(side));
  }

  const Repository* repository_;
  Repository::IndexCopy index_;
  std::optional<Attributes> attributes_;
  OwnedTree head_tree_;
};

bool is_link(const Side& side) { return side.mode == GIT_FILEMODE_LINK; }

const char* status_of(const FileDiff& file) {
  if (!file.before) return "added";
  if (!file.after) return "deleted";
  return is_link(*file.before) == is_link(*file.after) ? "modified" : "typechange";
}

bool differs(const FileDiff& file) {
  if (!file.before || !file.after) return true;
  return file.before->mode != file.after->mode || git_oid_equal(&file.before->oid, &file.after->oid) == 0;
}

Result<Patch> patch_of(const FileDiff& file, std::optional<bool> text, std::size_t max_bytes) {
  const bool replaced = file.before && file.after && is_link(*file.before) != is_link(*file.after);
  if (!replaced) return make_patch(file.before, file.after, text, max_bytes);
  // A link in place of a file, or the reverse: git shows the one going and the other coming.
  RB_TRY(auto gone, make_patch(file.before, std::nullopt, text, max_bytes));
  RB_TRY(const auto come, make_patch(std::nullopt, file.after, text, max_bytes));
  gone.text += come.text;
  gone.binary = gone.binary || come.binary;
  gone.additions += come.additions;
  gone.deletions += come.deletions;
  gone.truncated = gone.truncated || come.truncated;
  return gone;
}

}  // namespace

Result<Json> diff(const Repository& repository, DiffOf what, const std::vector<RepoPath>& paths,
                  std::size_t max_patch_bytes) {
  RB_TRY(auto differ, Differ::make(repository));
  Json files = Json::array();
  bool truncated = false;
  std::size_t left = max_patch_bytes;
  for (const auto& path : paths) {
    RB_TRY(const auto file, differ.sides(path, what));
    if (!differs(file)) continue;
    RB_TRY(auto patch, patch_of(file, differ.attributes().text_for_diff(path), left));
    left -= std::min(left, patch.text.size());
    truncated = truncated || patch.truncated;
    files.push_back(Json{{"path", path.text()},
                         {"status", status_of(file)},
                         {"binary", patch.binary},
                         {"additions", patch.additions},
                         {"deletions", patch.deletions},
                         {"new_oid", file.after ? Json(hex_of(file.after->oid)) : Json()},
                         {"patch", std::move(patch.text)},
                         {"truncated", patch.truncated}});
  }
  return Json{{"files", std::move(files)}, {"truncated", truncated}};
}

}  // namespace repobridge::git
