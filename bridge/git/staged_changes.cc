#include "bridge/git/staged_changes.h"

#include <set>

#include "bridge/git/renames.h"

namespace repobridge::git {
namespace {

RenameSide side_of(const git_diff_file& file) {
  return {.path = file.path, .oid = file.id, .mode = file.mode};
}

bool only_announced(git_index* index, const char* path) {
  const git_index_entry* entry = git_index_get_bypath(index, path, 0);
  return entry != nullptr && (entry->flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) != 0;
}

}  // namespace

Result<std::vector<StagedChange>> staged_changes(const Repository& repository, git_tree* head_tree,
                                                 git_index* index) {
  using Kind = StagedChange::Kind;
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_DISABLE_PATHSPEC_MATCH | GIT_DIFF_INCLUDE_TYPECHANGE;
  OwnedDiff diff;
  RB_CHECK(git_check(git_diff_tree_to_index(into(diff), repository.get(), head_tree, index, &options),
                     "compare the index with the last commit"));
  std::vector<StagedChange> changes;
  std::vector<RenameSide> gone;
  std::vector<RenameSide> fresh;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(diff.get(), i);
    StagedChange change{.path = delta->new_file.path};
    switch (delta->status) {
      case GIT_DELTA_ADDED:
        if (only_announced(index, delta->new_file.path)) continue;
        change.kind = Kind::added;
        fresh.push_back(side_of(delta->new_file));
        break;
      case GIT_DELTA_DELETED:
        change.kind = Kind::deleted;
        gone.push_back(side_of(delta->old_file));
        break;
      case GIT_DELTA_TYPECHANGE:
        change.kind = Kind::typechange;
        break;
      case GIT_DELTA_MODIFIED:
        break;
      default:
        continue;
    }
    changes.push_back(std::move(change));
  }
  RB_TRY(const auto renames, find_renames(repository, std::move(gone), std::move(fresh)));
  std::set<std::string> old_paths;
  for (auto& change : changes) {
    const auto rename = renames.find(change.path);
    if (change.kind != Kind::added || rename == renames.end()) continue;
    change.kind = Kind::renamed;
    change.old_path = rename->second.old_path;
    change.similarity = rename->second.similarity;
    old_paths.insert(change.old_path);
  }
  std::erase_if(changes, [&](const StagedChange& change) {
    return change.kind == Kind::deleted && old_paths.contains(change.path);
  });
  return changes;
}

}  // namespace repobridge::git
