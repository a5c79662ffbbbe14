#include "bridge/git/hidden_origins.h"

#include <algorithm>
#include <unordered_map>

#include "bridge/git/worktree_file.h"
#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

// Credentials are small; larger files are compared as a whole.
constexpr std::size_t kMaxComparedBytes = 1U << 20U;

// Shared lines in proportion to the longer file's, both counted with repetition.
bool resembles(std::string_view one, std::string_view other) {
  if (one == other) return true;
  if (one.size() > kMaxComparedBytes || other.size() > kMaxComparedBytes) return false;
  std::unordered_map<std::string, std::size_t> lines;
  std::size_t count = 0;
  for (auto& line : policy::split(one, '\n')) {
    if (line.empty()) continue;
    ++lines[std::move(line)];
    ++count;
  }
  std::size_t shared = 0;
  std::size_t other_count = 0;
  for (const auto& line : policy::split(other, '\n')) {
    if (line.empty()) continue;
    ++other_count;
    const auto found = lines.find(line);
    if (found == lines.end() || found->second == 0) continue;
    --found->second;
    ++shared;
  }
  return shared > 0 && shared * 2 >= std::max(count, other_count);
}

}  // namespace

Result<HiddenOrigins> HiddenOrigins::of_worktree(const Repository& repository, git_index* index,
                                                 const policy::PathRules& rules) {
  HiddenOrigins origins;
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index, i);
    if (entry->mode == GIT_FILEMODE_COMMIT || rules.visible(entry->path)) continue;
    const auto fd = platform::open_beneath(repository.root(), entry->path, platform::OpenAs::location);
    if (fd || !platform::is_absent(fd.error())) continue;
    RB_CHECK(origins.add(repository, entry->id));
  }
  return origins;
}

Result<HiddenOrigins> HiddenOrigins::of_index(const Repository& repository, git_tree* head_tree,
                                              git_index* index, const policy::PathRules& rules) {
  HiddenOrigins origins;
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_DISABLE_PATHSPEC_MATCH;
  OwnedDiff diff;
  RB_CHECK(git_check(git_diff_tree_to_index(into(diff), repository.get(), head_tree, index, &options),
                     "compare the index with the last commit"));
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(diff.get(), i);
    const bool gone = delta->status == GIT_DELTA_DELETED && delta->old_file.mode != GIT_FILEMODE_COMMIT;
    if (!gone || rules.visible(delta->old_file.path)) continue;
    RB_CHECK(origins.add(repository, delta->old_file.id));
  }
  return origins;
}

Result<void> HiddenOrigins::add(const Repository& repository, const git_oid& oid) {
  OwnedBlob blob;
  RB_CHECK(git_check(git_blob_lookup(into(blob), repository.get(), &oid), "read a stored file"));
  std::string content(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                      static_cast<std::size_t>(git_blob_rawsize(blob.get())));
  if (!content.empty()) contents_.push_back(std::move(content));
  return {};
}

Result<void> HiddenOrigins::check(const policy::RepoPath& path, std::string_view content) const {
  const bool known =
      std::ranges::any_of(contents_, [&](const std::string& hidden) { return resembles(hidden, content); });
  if (!known) return {};
  return refuse_path(
      policy::codes::kDeniedPath,
      "this new file has the content of a tracked file that policy hides and that is gone from its "
      "place; a rename does not make it visible",
      path);
}

}  // namespace repobridge::git
