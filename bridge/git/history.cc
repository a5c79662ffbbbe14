#include "bridge/git/history.h"

#include <algorithm>

#include "policy/codes.h"
#include "policy/json.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

constexpr std::size_t kMaxShallowBytes = 1U << 24U;

}  // namespace

Result<History> History::of(const Repository& repository) {
  RB_TRY(auto text,
         platform::read_beneath_if_present(repository.git_directory(), "shallow", kMaxShallowBytes));
  return cut_by(repository, std::move(text));
}

Result<History> History::cut_by(const Repository& repository, std::optional<std::string> shallow_text) {
  History history(repository);
  history.shallow_text_ = std::move(shallow_text);
  RB_CHECK(history.read_ends());
  return history;
}

Result<void> History::read_ends() {
  if (!shallow_text_) return {};
  for (const auto& line : policy::split(*shallow_text_, '\n')) {
    if (line.empty()) continue;
    const auto oid = oid_from(line);
    if (!oid) {
      return policy::refuse(policy::codes::kUnsafeLayout,
                            "the repository's shallow file holds something other than commit ids",
                            policy::Json{{"place", "shallow"}});
    }
    ends_.insert(*oid);
  }
  return {};
}

bool History::is_commit(const git_oid& oid) const {
  git_odb* raw = nullptr;
  if (git_repository_odb(&raw, repository_->get()) < 0) return false;
  const Owned<git_odb, git_odb_free> odb(raw);
  // A remote may have thousands of branches that are not here; packs are not listed anew for each.
  if (git_odb_exists_ext(odb.get(), &oid, GIT_ODB_LOOKUP_NO_REFRESH) == 0) return false;
  OwnedCommit commit;
  return git_commit_lookup(into(commit), repository_->get(), &oid) == 0;
}

Result<std::vector<OwnedCommit>> History::parents(git_commit* commit) const {
  std::vector<OwnedCommit> parents;
  if (ends_.contains(*git_commit_id(commit))) return parents;
  for (unsigned i = 0; i < git_commit_parentcount(commit); ++i) {
    OwnedCommit parent;
    RB_CHECK(git_check(git_commit_parent(into(parent), commit, i), "read a commit's parent"));
    parents.push_back(std::move(parent));
  }
  return parents;
}

Result<std::vector<git_oid>> History::parent_oids(const git_oid& oid) const {
  std::vector<git_oid> oids;
  OwnedCommit commit;
  RB_CHECK(git_check(git_commit_lookup(into(commit), repository_->get(), &oid), "read a commit"));
  if (ends_.contains(oid)) return oids;
  for (unsigned i = 0; i < git_commit_parentcount(commit.get()); ++i) {
    oids.push_back(*git_commit_parent_id(commit.get(), i));
  }
  return oids;
}

// Depth first, without recursion: a commit comes out when all behind it has.
Result<std::vector<git_oid>> History::walk(const std::vector<git_oid>& from, const OidSet& known) const {
  struct Visit {
    git_oid oid;
    std::vector<git_oid> parents;
  };
  std::vector<git_oid> found;
  OidSet seen = known;
  std::vector<Visit> open;
  const auto enter = [&](const git_oid& oid) -> Result<void> {
    if (!seen.insert(oid).second) return {};
    RB_TRY(auto parents, parent_oids(oid));
    open.push_back({.oid = oid, .parents = std::move(parents)});
    return {};
  };
  for (const auto& start : from) {
    RB_CHECK(enter(start));
    while (!open.empty()) {
      if (open.back().parents.empty()) {
        found.push_back(open.back().oid);
        open.pop_back();
        continue;
      }
      const git_oid next = open.back().parents.back();
      open.back().parents.pop_back();
      RB_CHECK(enter(next));
    }
  }
  return found;
}

Result<OidSet> History::all_behind(const std::vector<git_oid>& from) const {
  RB_TRY(const auto found, walk(from, {}));
  return OidSet(found.begin(), found.end());
}

Result<History::Distance> History::distance(const git_oid& from, const git_oid& other) const {
  Distance distance;
  if (!shallow_text_) {
    RB_CHECK(git_check(
        git_graph_ahead_behind(&distance.ahead, &distance.behind, repository_->get(), &from, &other),
        "compare two branches"));
    return distance;
  }
  RB_TRY(const auto behind_from, all_behind({from}));
  RB_TRY(const auto behind_other, all_behind({other}));
  RB_TRY(const auto ahead, walk({from}, behind_other));
  RB_TRY(const auto behind, walk({other}, behind_from));
  return Distance{.ahead = ahead.size(), .behind = behind.size()};
}

Result<bool> History::holds(const git_oid& commit, const git_oid& ancestor) const {
  if (git_oid_equal(&commit, &ancestor) != 0) return true;
  if (!is_commit(ancestor)) return false;
  if (!shallow_text_) {
    const int descends = git_graph_descendant_of(repository_->get(), &commit, &ancestor);
    RB_CHECK(git_check(descends, "compare two branches"));
    return descends == 1;
  }
  RB_TRY(const auto behind, all_behind({commit}));
  return behind.contains(ancestor);
}

Result<std::vector<git_oid>> History::beyond(const git_oid& commit, const std::vector<git_oid>& known,
                                             std::size_t most) const {
  std::vector<git_oid> known_here;
  std::ranges::copy_if(known, std::back_inserter(known_here),
                       [&](const git_oid& oid) { return is_commit(oid); });
  if (shallow_text_) {
    RB_TRY(const auto behind_known, all_behind(known_here));
    RB_TRY(auto found, walk({commit}, behind_known));
    if (found.size() > most) found.resize(most);
    return found;
  }
  OwnedRevwalk revwalk;
  RB_CHECK(git_check(git_revwalk_new(into(revwalk), repository_->get()), "walk the history"));
  git_revwalk_sorting(revwalk.get(), GIT_SORT_TOPOLOGICAL | GIT_SORT_REVERSE);
  RB_CHECK(git_check(git_revwalk_push(revwalk.get(), &commit), "walk the history"));
  for (const auto& oid : known_here) {
    RB_CHECK(git_check(git_revwalk_hide(revwalk.get(), &oid), "walk the history"));
  }
  std::vector<git_oid> found;
  git_oid next{};
  int code = 0;
  while (found.size() < most && (code = git_revwalk_next(&next, revwalk.get())) == 0) found.push_back(next);
  if (code != 0 && code != GIT_ITEROVER) return git_failure(code, "walk the history");
  return found;
}

}  // namespace repobridge::git
