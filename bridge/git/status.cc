#include "bridge/git/status.h"

#include <algorithm>
#include <array>
#include <vector>

#include "bridge/git/history.h"
#include "bridge/git/layout.h"
#include "bridge/git/outgoing.h"
#include "policy/codes.h"
#include "policy/repo_path.h"

namespace repobridge::git {
namespace {

using policy::Json;

// Commits that have not left yet, named in a status; `ahead` counts them all.
constexpr std::size_t kMostOutgoing = 50;

struct Word {
  unsigned flag;
  const char* text;
};
constexpr std::array<Word, 5> kIndexWords{{{GIT_STATUS_INDEX_RENAMED, "renamed"},
                                           {GIT_STATUS_INDEX_NEW, "added"},
                                           {GIT_STATUS_INDEX_DELETED, "deleted"},
                                           {GIT_STATUS_INDEX_TYPECHANGE, "typechange"},
                                           {GIT_STATUS_INDEX_MODIFIED, "modified"}}};
constexpr std::array<Word, 4> kWorktreeWords{{{GIT_STATUS_WT_DELETED, "deleted"},
                                              {GIT_STATUS_WT_TYPECHANGE, "typechange"},
                                              {GIT_STATUS_WT_MODIFIED, "modified"},
                                              {GIT_STATUS_WT_UNREADABLE, "modified"}}};

template <std::size_t N>
const char* word_for(unsigned flags, const std::array<Word, N>& words) {
  for (const auto& word : words) {
    if ((flags & word.flag) != 0) return word.text;
  }
  return "unmodified";
}

struct Entry {
  std::string path;
  std::string old_path;  // "" unless renamed
  const char* index = "unmodified";
  const char* worktree = "unmodified";
};

// Something stands in a tracked file's place that git cannot hold, a FIFO say.
bool is_special(const Repository& repository, const std::string& path) {
  const auto fd = platform::open_beneath(repository.root(), path, platform::OpenAs::location);
  if (!fd) return false;
  const auto facts = platform::facts_of(fd->get());
  return facts && !facts->is_directory() && !facts->is_regular() && !facts->is_link();
}

const char* worktree_word(const Repository& repository, unsigned flags, const std::string& path) {
  if ((flags & GIT_STATUS_WT_DELETED) != 0 && is_special(repository, path)) return "modified";
  return word_for(flags, kWorktreeWords);
}

// What git says of an entry, where libgit2 says it otherwise. nullopt: git shows nothing.
std::optional<Entry> entry_from(const Repository& repository, const git_status_entry& raw, git_index* index) {
  unsigned flags = static_cast<unsigned>(raw.status);
  const git_diff_delta* delta = raw.head_to_index != nullptr ? raw.head_to_index : raw.index_to_workdir;
  Entry entry{.path = delta->new_file.path != nullptr ? delta->new_file.path : delta->old_file.path};
  const git_index_entry* tracked = git_index_get_bypath(index, entry.path.c_str(), 0);
  const unsigned extended = tracked != nullptr ? tracked->flags_extended : 0U;
  // Outside a sparse checkout's cone, a missing file is as it should be.
  if ((extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0) flags &= ~static_cast<unsigned>(GIT_STATUS_WT_DELETED);
  if (flags == GIT_STATUS_CURRENT || (flags & GIT_STATUS_IGNORED) != 0) return std::nullopt;
  if ((flags & GIT_STATUS_CONFLICTED) != 0) {
    entry.index = entry.worktree = "conflicted";
    return entry;
  }
  if ((flags & GIT_STATUS_WT_NEW) != 0) {
    // `git rm --cached` leaves a file that the index no longer knows.
    entry.index = (flags & GIT_STATUS_INDEX_DELETED) != 0 ? "deleted" : "untracked";
    entry.worktree = "untracked";
    return entry;
  }
  entry.index = word_for(flags, kIndexWords);
  entry.worktree = worktree_word(repository, flags, entry.path);
  if ((flags & GIT_STATUS_INDEX_RENAMED) != 0) entry.old_path = raw.head_to_index->old_file.path;
  if ((extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) != 0) {
    // `git add -N` announces a file without staging it.
    entry.index = "unmodified";
    if ((flags & GIT_STATUS_WT_DELETED) == 0) entry.worktree = "added";
  }
  return entry;
}

Json entry_json(const Entry& entry) {
  Json json{{"path", policy::path_text(entry.path)}, {"index", entry.index}, {"worktree", entry.worktree}};
  if (!entry.old_path.empty()) json["old_path"] = policy::path_text(entry.old_path);
  return json;
}

// What the branch follows, and what of it has not left yet as far as the last fetch knows.
struct UpstreamView {
  Json upstream;
  Json outgoing = Json::array();
};

Result<UpstreamView> view_upstream(const Repository& repository, const Head& head) {
  UpstreamView view;
  const auto upstream = repository.upstream_of(head);
  if (!upstream) return view;
  view.upstream = Json{{"remote", policy::path_text(upstream->remote)},
                       {"branch", policy::path_text(upstream->branch())},
                       {"ahead", nullptr},
                       {"behind", nullptr}};
  if (upstream->tracking.empty() || !head.oid) return view;
  RB_CHECK(check_place(repository.git_directory(), upstream->tracking, Place::file));
  git_oid tracked{};
  const int code = git_reference_name_to_id(&tracked, repository.get(), upstream->tracking.c_str());
  if (code == GIT_ENOTFOUND) return view;  // never fetched, or gone from the remote
  RB_CHECK(git_check(code, "read the tracking branch"));
  RB_TRY(const auto history, History::of(repository));
  RB_TRY(const auto distance, history.distance(*head.oid, tracked));
  view.upstream["ahead"] = distance.ahead;
  view.upstream["behind"] = distance.behind;
  if (distance.ahead == 0) return view;
  RB_TRY(view.outgoing, list_outgoing(repository, *head.oid, tracked, kMostOutgoing));
  return view;
}

Result<std::vector<Entry>> scanned(const Repository& repository, git_index* index) {
  git_status_options options = GIT_STATUS_OPTIONS_INIT;
  options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
  // Submodules are left alone: looking into one would read its configuration. The index is our copy, so there
  // is nothing to refresh or write back.
  options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_RECURSE_UNTRACKED_DIRS |
                  GIT_STATUS_OPT_EXCLUDE_SUBMODULES | GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH |
                  GIT_STATUS_OPT_RENAMES_HEAD_TO_INDEX | GIT_STATUS_OPT_NO_REFRESH |
                  GIT_STATUS_OPT_INCLUDE_UNREADABLE;
  OwnedStatusList list;
  const int code = git_status_list_new(into(list), repository.get(), &options);
  if (code < 0 && last_error_says("nesting too deep")) {
    return policy::refuse(
        policy::codes::kUnsupportedLayout,
        "directories of the work tree nest more than 100 deep, which is not looked through here");
  }
  RB_CHECK(git_check(code, "compare the work tree with the index"));
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < git_status_list_entrycount(list.get()); ++i) {
    auto entry = entry_from(repository, *git_status_byindex(list.get(), i), index);
    if (entry) entries.push_back(*std::move(entry));
  }
  return entries;
}

// Submodules that are staged to be added, moved on or removed; the scan passes them over.
Result<std::vector<Entry>> staged_submodules(const Repository& repository, const Head& head,
                                             git_index* index) {
  OwnedTree head_tree;
  if (head.oid) {
    OwnedCommit commit;
    RB_CHECK(
        git_check(git_commit_lookup(into(commit), repository.get(), &*head.oid), "read the last commit"));
    RB_CHECK(git_check(git_commit_tree(into(head_tree), commit.get()), "read the last commit's tree"));
  }
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_DISABLE_PATHSPEC_MATCH | GIT_DIFF_INCLUDE_TYPECHANGE;
  OwnedDiff diff;
  RB_CHECK(git_check(git_diff_tree_to_index(into(diff), repository.get(), head_tree.get(), index, &options),
                     "compare the index with the last commit"));
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(diff.get(), i);
    if (delta->old_file.mode != GIT_FILEMODE_COMMIT && delta->new_file.mode != GIT_FILEMODE_COMMIT) continue;
    Entry entry{.path = delta->new_file.path};
    switch (delta->status) {
      case GIT_DELTA_ADDED:
        entry.index = "added";
        break;
      case GIT_DELTA_DELETED:
        entry.index = "deleted";
        break;
      case GIT_DELTA_TYPECHANGE:
        entry.index = "typechange";
        break;
      default:
        entry.index = "modified";
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<Entry>> all_entries(const Repository& repository, const Head& head) {
  RB_TRY(const auto index, repository.read_index());
  RB_TRY(auto entries, scanned(repository, index.index.get()));
  RB_TRY(auto submodules, staged_submodules(repository, head, index.index.get()));
  entries.insert(entries.end(), std::make_move_iterator(submodules.begin()),
                 std::make_move_iterator(submodules.end()));
  std::ranges::sort(entries, {}, &Entry::path);
  return entries;
}

}  // namespace

Json head_json(const Head& head) {
  return Json{{"branch", head.detached() ? Json() : Json(policy::path_text(head.branch()))},
              {"oid", head.oid ? Json(hex_of(*head.oid)) : Json()},
              {"unborn", !head.oid.has_value()}};
}

Result<Json> status(const Repository& repository, const policy::PathRules& rules, std::size_t max_entries) {
  RB_TRY(const auto head, repository.head());
  RB_TRY(const auto operation, repository.operation());
  RB_TRY(auto upstream, view_upstream(repository, head));
  RB_TRY(const auto all, all_entries(repository, head));
  Json entries = Json::array();
  std::size_t hidden = 0;
  bool truncated = false;
  for (const auto& entry : all) {
    const bool visible =
        rules.visible(entry.path) && (entry.old_path.empty() || rules.visible(entry.old_path));
    if (!visible) {
      ++hidden;
    } else if (entries.size() < max_entries) {
      entries.push_back(entry_json(entry));
    } else {
      truncated = true;
    }
  }
  return Json{{"head", head_json(head)},
              {"upstream", std::move(upstream.upstream)},
              {"outgoing", std::move(upstream.outgoing)},
              {"operation", operation ? Json(*operation) : Json()},
              {"clean", all.empty()},
              {"entries", std::move(entries)},
              {"hidden_count", hidden},
              {"freshness", "scanned"},
              {"truncated", truncated}};
}

}  // namespace repobridge::git
