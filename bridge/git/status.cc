#include "bridge/git/status.h"

#include <cstdlib>
#include <map>
#include <string_view>

#include "bridge/git/history.h"
#include "bridge/git/layout.h"
#include "bridge/git/outgoing.h"
#include "bridge/git/staged_changes.h"
#include "policy/codes.h"
#include "policy/repo_path.h"

namespace repobridge::git {
namespace {

using policy::Json;

// Commits that have not left yet, named in a status; `ahead` counts them all.
constexpr std::size_t kMostOutgoing = 50;

constexpr const char* kSame = "unmodified";

struct Entry {
  std::string old_path;  // "" unless renamed
  const char* index = kSame;
  const char* worktree = kSame;
};
using Entries = std::map<std::string, Entry>;

const char* word_of(StagedChange::Kind kind) {
  switch (kind) {
    case StagedChange::Kind::added:
      return "added";
    case StagedChange::Kind::modified:
      return "modified";
    case StagedChange::Kind::deleted:
      return "deleted";
    case StagedChange::Kind::typechange:
      return "typechange";
    case StagedChange::Kind::renamed:
      return "renamed";
  }
  std::abort();
}

// Something stands in a tracked file's place that git cannot hold, a FIFO say.
bool is_special(const Repository& repository, const std::string& path) {
  const auto fd = platform::open_beneath(repository.root(), path, platform::OpenAs::location);
  if (!fd) return false;
  const auto facts = platform::facts_of(fd->get());
  return facts && !facts->is_directory() && !facts->is_regular() && !facts->is_link();
}

Json entry_json(const std::string& path, const Entry& entry) {
  Json json{{"path", policy::path_text(path)}, {"index", entry.index}, {"worktree", entry.worktree}};
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

Result<void> add_staged(const Repository& repository, const Head& head, git_index* index, Entries& entries) {
  OwnedTree head_tree;
  if (head.oid) {
    OwnedCommit commit;
    RB_CHECK(
        git_check(git_commit_lookup(into(commit), repository.get(), &*head.oid), "read the last commit"));
    RB_CHECK(git_check(git_commit_tree(into(head_tree), commit.get()), "read the last commit's tree"));
  }
  RB_TRY(auto changes, staged_changes(repository, head_tree.get(), index));
  for (auto& change : changes) {
    Entry& entry = entries[change.path];
    entry.index = word_of(change.kind);
    entry.old_path = std::move(change.old_path);
  }
  return {};
}

// `git add -N` announces files without staging them.
void add_announced(git_index* index, Entries& entries) {
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index, i);
    if ((entry->flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) != 0) entries[entry->path].worktree = "added";
  }
}

Result<OwnedStatusList> scan_work_tree(const Repository& repository) {
  git_status_options options = GIT_STATUS_OPTIONS_INIT;
  options.show = GIT_STATUS_SHOW_WORKDIR_ONLY;
  // Submodules are left alone: looking into one would read its configuration. The index is our copy, so there
  // is nothing to refresh or write back.
  options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_RECURSE_UNTRACKED_DIRS |
                  GIT_STATUS_OPT_EXCLUDE_SUBMODULES | GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH |
                  GIT_STATUS_OPT_NO_REFRESH | GIT_STATUS_OPT_INCLUDE_UNREADABLE;
  OwnedStatusList list;
  const int code = git_status_list_new(into(list), repository.get(), &options);
  if (code < 0 && last_error_says("nesting too deep")) {
    return policy::refuse(
        policy::codes::kUnsupportedLayout,
        "directories of the work tree nest 100 deep or more, which is not looked through here");
  }
  RB_CHECK(git_check(code, "compare the work tree with the index"));
  return list;
}

// What git says of the work tree, where libgit2 says it otherwise. nullptr: nothing.
const char* worktree_word(const Repository& repository, unsigned flags, const std::string& path,
                          const git_index_entry* tracked) {
  const unsigned extended = tracked != nullptr ? tracked->flags_extended : 0U;
  if ((flags & GIT_STATUS_CONFLICTED) != 0) return "conflicted";
  if ((flags & GIT_STATUS_WT_NEW) != 0) return "untracked";
  if ((flags & GIT_STATUS_WT_DELETED) != 0) {
    // Outside a sparse checkout's cone, a missing file is as it should be.
    if ((extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0) return nullptr;
    return is_special(repository, path) ? "modified" : "deleted";
  }
  if ((extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) != 0) return nullptr;
  if ((flags & GIT_STATUS_WT_TYPECHANGE) != 0) return "typechange";
  if ((flags & (GIT_STATUS_WT_MODIFIED | GIT_STATUS_WT_UNREADABLE)) != 0) return "modified";
  return nullptr;
}

Result<void> add_work_tree(const Repository& repository, git_index* index, Entries& entries) {
  RB_TRY(const auto list, scan_work_tree(repository));
  for (std::size_t i = 0; i < git_status_list_entrycount(list.get()); ++i) {
    const git_status_entry* raw = git_status_byindex(list.get(), i);
    const git_diff_file& file = raw->index_to_workdir->status == GIT_DELTA_DELETED
                                    ? raw->index_to_workdir->old_file
                                    : raw->index_to_workdir->new_file;
    const std::string path = file.path;
    const char* word = worktree_word(repository, static_cast<unsigned>(raw->status), path,
                                     git_index_get_bypath(index, path.c_str(), 0));
    if (word == nullptr) continue;
    const bool alone = !entries.contains(path);
    Entry& entry = entries[path];
    entry.worktree = word;
    const bool in_no_index = std::string_view(word) == "untracked" || std::string_view(word) == "conflicted";
    if (alone && in_no_index) entry.index = word;
  }
  return {};
}

Result<Entries> all_entries(const Repository& repository, const Head& head) {
  RB_TRY(const auto copy, repository.read_index());
  Entries entries;
  RB_CHECK(add_staged(repository, head, copy.index.get(), entries));
  add_announced(copy.index.get(), entries);
  RB_CHECK(add_work_tree(repository, copy.index.get(), entries));
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
  for (const auto& [path, entry] : all) {
    const bool visible = rules.visible(path) && (entry.old_path.empty() || rules.visible(entry.old_path));
    if (!visible) {
      ++hidden;
    } else if (entries.size() < max_entries) {
      entries.push_back(entry_json(path, entry));
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
