#include "bridge/git/renames.h"

namespace repobridge::git {

Result<Renames> staged_renames(const Repository& repository, git_tree* head_tree, git_index* index) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_DISABLE_PATHSPEC_MATCH;
  OwnedDiff diff;
  RB_CHECK(git_check(git_diff_tree_to_index(into(diff), repository.get(), head_tree, index, &options),
                     "compare the index with the last commit"));
  git_diff_find_options find = GIT_DIFF_FIND_OPTIONS_INIT;
  find.flags = GIT_DIFF_FIND_RENAMES;
  RB_CHECK(git_check(git_diff_find_similar(diff.get(), &find), "look for renames"));
  Renames renames;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(diff.get(), i);
    if (delta->status != GIT_DELTA_RENAMED) continue;
    renames.emplace(delta->new_file.path,
                    Rename{.old_path = delta->old_file.path, .similarity = delta->similarity});
  }
  return renames;
}

}  // namespace repobridge::git
