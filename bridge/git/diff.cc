#include "bridge/git/diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "bridge/git/attributes.h"
#include "bridge/git/hidden_origins.h"
#include "bridge/git/patch.h"
#include "bridge/git/staged_changes.h"
#include "bridge/git/worktree_file.h"
#include "bridge/wire/bounds.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;
using policy::RepoPath;

// Finds the two sides of each named file.
class Differ {
 public:
  static Result<Differ> make(const Repository& repository, const DiffOrder& order) {
    Differ differ(repository, order);
    RB_TRY(differ.copy_, repository.read_index());
    differ.attributes_.emplace(repository, differ.index());
    if (order.of == DiffOf::staged) RB_CHECK(differ.read_head());
    return differ;
  }

  // nullopt: the file shows as the old name of a rename that is named too.
  Result<std::optional<Sides>> sides(const RepoPath& path) {
    RB_CHECK(check_not_conflicted(path));
    if (old_names_.contains(path.bytes())) return std::nullopt;
    Sides sides;
    RB_TRY(auto in_index, from_index(path));
    if (order_->of == DiffOf::staged) {
      RB_CHECK(read_before(path, sides));
      sides.after = std::move(in_index);
    } else {
      sides.before = std::move(in_index);
      RB_TRY(sides.after, from_worktree(path));
    }
    if (!sides.before && !sides.after) {
      return refuse_path(codes::kPathNotFound,
                         "there is no such file on either side of this diff; view status lists what differs",
                         path);
    }
    if (!sides.before) RB_CHECK(check_origin(path, *sides.after));
    return std::optional<Sides>(std::move(sides));
  }

  [[nodiscard]] const Attributes& attributes() const { return *attributes_; }

 private:
  Differ(const Repository& repository, const DiffOrder& order) : repository_(&repository), order_(&order) {}

  [[nodiscard]] git_index* index() const { return copy_.index.get(); }

  Result<void> read_head() {
    RB_TRY(const auto head, repository_->head());
    if (!head.oid) return {};
    OwnedCommit commit;
    RB_CHECK(
        git_check(git_commit_lookup(into(commit), repository_->get(), &*head.oid), "read the last commit"));
    RB_CHECK(git_check(git_commit_tree(into(head_tree_), commit.get()), "read the last commit's tree"));
    RB_TRY(auto changes, staged_changes(*repository_, head_tree_.get(), index()));
    for (auto& change : changes) {
      if (change.kind == StagedChange::Kind::renamed) renames_.emplace(change.path, std::move(change));
    }
    for (const auto& path : order_->paths) {
      const auto rename = renames_.find(path.bytes());
      if (rename != renames_.end()) old_names_.insert(rename->second.old_path);
    }
    return {};
  }

  Result<void> check_not_conflicted(const RepoPath& path) {
    const git_index_entry* ancestor = nullptr;
    const git_index_entry* ours = nullptr;
    const git_index_entry* theirs = nullptr;
    const int code = git_index_conflict_get(&ancestor, &ours, &theirs, index(), path.bytes().c_str());
    if (code == GIT_ENOTFOUND) return {};
    return refuse_path(codes::kConflicts,
                       "the file has unmerged changes; resolve the conflict with git first", path);
  }

  // A file of HEAD, under its old name when it was renamed.
  Result<void> read_before(const RepoPath& path, Sides& sides) {
    const auto rename = renames_.find(path.bytes());
    if (rename == renames_.end()) {
      RB_TRY(sides.before, from_head(path.bytes()));
      return {};
    }
    if (!order_->rules.visible(rename->second.old_path)) {
      return refuse_path(
          codes::kDeniedPath,
          "this file was renamed from one that policy hides; a rename does not make it visible", path);
    }
    sides.similarity = rename->second.similarity;
    RB_TRY(sides.before, from_head(rename->second.old_path));
    return {};
  }

  Result<void> check_origin(const RepoPath& path, const Side& after) {
    if (!origins_) {
      auto origins = order_->of == DiffOf::staged
                         ? HiddenOrigins::of_index(*repository_, head_tree_.get(), index(), order_->rules)
                         : HiddenOrigins::of_worktree(*repository_, index(), order_->rules);
      if (!origins) return fail(std::move(origins).error());
      origins_ = *std::move(origins);
    }
    return origins_->check(path, after.bytes);
  }

  Result<Side> read_blob(const std::string& path, const git_oid& oid, git_filemode_t mode) {
    OwnedBlob blob;
    RB_CHECK(git_check(git_blob_lookup(into(blob), repository_->get(), &oid), "read a stored file"));
    return Side{.path = path,
                .mode = mode,
                .oid = oid,
                .bytes = std::string(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                                     static_cast<std::size_t>(git_blob_rawsize(blob.get())))};
  }

  Result<std::optional<Side>> from_index(const RepoPath& path) {
    RB_CHECK(check_not_in_submodule(index(), path));
    const git_index_entry* entry = git_index_get_bypath(index(), path.bytes().c_str(), 0);
    const bool announced_only =
        entry != nullptr && (entry->flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) != 0;
    if (entry == nullptr || announced_only) return std::nullopt;
    RB_TRY(auto side, read_blob(path.bytes(), entry->id, static_cast<git_filemode_t>(entry->mode)));
    return std::optional<Side>(std::move(side));
  }

  Result<std::optional<Side>> from_head(const std::string& path) {
    if (!head_tree_) return std::nullopt;
    OwnedTreeEntry entry;
    const int code = git_tree_entry_bypath(into(entry), head_tree_.get(), path.c_str());
    if (code == GIT_ENOTFOUND) return std::nullopt;
    RB_CHECK(git_check(code, "read the last commit's tree"));
    if (git_tree_entry_type(entry.get()) != GIT_OBJECT_BLOB) return std::nullopt;
    RB_TRY(auto side, read_blob(path, *git_tree_entry_id(entry.get()), git_tree_entry_filemode(entry.get())));
    return std::optional<Side>(std::move(side));
  }

  Result<std::optional<Side>> from_worktree(const RepoPath& path) {
    const git_index_entry* entry = git_index_get_bypath(index(), path.bytes().c_str(), 0);
    if (entry != nullptr && not_looked_at(*entry) != nullptr) return from_index(path);
    RB_TRY(auto file, read_worktree_file(*repository_, index(), *attributes_, path, entry != nullptr));
    if (!file) return std::nullopt;
    Side side{.path = path.bytes(), .mode = file->mode, .bytes = std::move(file->stored)};
    RB_CHECK(git_check(git_odb_hash(&side.oid, side.bytes.data(), side.bytes.size(), GIT_OBJECT_BLOB),
                       "hash a file"));
    return std::optional<Side>(std::move(side));
  }

  const Repository* repository_;
  const DiffOrder* order_;
  Repository::IndexCopy copy_;
  std::optional<Attributes> attributes_;
  OwnedTree head_tree_;
  std::map<std::string, StagedChange, std::less<>> renames_;  // by new path
  std::set<std::string, std::less<>> old_names_;              // of renames whose new name was asked for
  std::optional<HiddenOrigins> origins_;
};

bool is_link(const Side& side) { return side.mode == GIT_FILEMODE_LINK; }

bool type_changed(const Sides& sides) {
  return sides.before && sides.after && is_link(*sides.before) != is_link(*sides.after);
}

const char* status_of(const Sides& sides) {
  if (!sides.before) return "added";
  if (!sides.after) return "deleted";
  if (sides.before->path != sides.after->path) return "renamed";
  return type_changed(sides) ? "typechange" : "modified";
}

bool differs(const Sides& sides) {
  if (!sides.before || !sides.after || sides.before->path != sides.after->path) return true;
  return sides.before->mode != sides.after->mode || git_oid_equal(&sides.before->oid, &sides.after->oid) == 0;
}

Result<Patch> patch_of(const Sides& sides, std::optional<bool> text, std::size_t max_bytes) {
  if (!type_changed(sides)) return make_patch(sides, text, max_bytes);
  // A link in place of a file, or the reverse: git shows the one going and the other coming.
  RB_TRY(auto gone, make_patch({.before = sides.before, .after = std::nullopt}, text, max_bytes));
  RB_TRY(const auto come, make_patch({.before = std::nullopt, .after = sides.after}, text, max_bytes));
  gone.text += come.text;
  gone.binary = gone.binary || come.binary;
  gone.additions += come.additions;
  gone.deletions += come.deletions;
  gone.truncated = gone.truncated || come.truncated;
  return gone;
}

Json file_json(const RepoPath& path, const Sides& sides, Patch patch) {
  const git_oid gone{};
  const git_oid& new_oid = sides.after ? sides.after->oid : gone;
  Json json{{"path", path.text()},
            {"status", status_of(sides)},
            {"binary", patch.binary},
            {"additions", patch.additions},
            {"deletions", patch.deletions},
            {"new_oid", hex_of(new_oid)},
            {"patch", std::move(patch.text)},
            {"truncated", patch.truncated}};
  if (sides.before && sides.before->path != path.bytes())
    json["old_path"] = policy::path_text(sides.before->path);
  return json;
}

// Shortens the longest patches until all have room in `max_bytes`. Returns what they take.
std::size_t share(Json& files, std::size_t max_bytes) {
  std::vector<std::size_t> sizes;
  for (const auto& file : files) sizes.push_back(file["patch"].get_ref<const std::string&>().size());
  const std::size_t cap = wire::even_cap(std::move(sizes), max_bytes);
  std::size_t bytes = 0;
  for (auto& file : files) {
    auto& patch = file["patch"].get_ref<std::string&>();
    if (patch.size() > cap) {
      patch.resize(wire::cut_text(patch, cap).size());
      file["truncated"] = true;
    }
    bytes += patch.size();
  }
  return bytes;
}

}  // namespace

Result<Json> diff(const Repository& repository, const DiffOrder& order) {
  RB_TRY(auto differ, Differ::make(repository, order));
  Json files = Json::array();
  std::size_t bytes = 0;
  for (const auto& path : order.paths) {
    RB_TRY(const auto sides, differ.sides(path));
    if (!sides || !differs(*sides)) continue;
    RB_TRY(auto patch, patch_of(*sides, differ.attributes().text_for_diff(path), order.max_patch_bytes));
    bytes += patch.text.size();
    files.push_back(file_json(path, *sides, std::move(patch)));
    // What the answer cannot hold is not kept until the end.
    if (bytes > 2 * order.max_patch_bytes) bytes = share(files, order.max_patch_bytes);
  }
  const bool truncated =
      std::ranges::any_of(files, [](const Json& file) { return file["truncated"].get<bool>(); });
  return Json{{"files", std::move(files)}, {"truncated", truncated}};
}

}  // namespace repobridge::git
