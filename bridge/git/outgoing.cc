#include "bridge/git/outgoing.h"

#include <algorithm>
#include <set>

#include "bridge/git/layout.h"
#include "policy/codes.h"
#include "policy/repo_path.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;

constexpr std::size_t kMostCommits = 10000;
constexpr std::size_t kMaxShallowBytes = 1U << 24U;
constexpr std::size_t kMaxSubjectBytes = 200;

Result<std::string> remote_url(const LocalConfig& config, const std::string& remote) {
  const auto urls = config.all("remote." + remote + ".url");
  const auto push_urls = config.all("remote." + remote + ".pushurl");
  if (urls.size() > 1 || push_urls.size() > 1) {
    return policy::refuse(
        codes::kAmbiguousRemote,
        "the upstream's remote has more than one URL, and one push goes to one place; keep one");
  }
  if (!push_urls.empty()) return push_urls.front();
  if (urls.empty()) {
    return policy::refuse(codes::kNoUpstream, "the branch's upstream names a remote that has no URL");
  }
  return urls.front();
}

// Copied into the transport repository, so that git knows where this history ends.
Result<Json> checked_shallow(const Repository& repository) {
  RB_TRY(const auto text,
         platform::read_beneath_if_present(repository.git_directory(), "shallow", kMaxShallowBytes));
  if (!text) return Json();
  const bool hex_lines = std::ranges::all_of(
      *text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '\n'; });
  if (!hex_lines) {
    return policy::refuse(codes::kUnsafeLayout,
                          "the repository's shallow file holds something other than commit ids",
                          Json{{"place", "shallow"}});
  }
  return Json(*text);
}

Result<bool> is_here(const Repository& repository, const git_oid& oid) {
  git_odb* raw = nullptr;
  RB_CHECK(git_check(git_repository_odb(&raw, repository.get()), "open the objects"));
  const Owned<git_odb, git_odb_free> odb(raw);
  return git_odb_exists(odb.get(), &oid) == 1;
}

Result<OwnedRevwalk> walk_outgoing(const Repository& repository, const git_oid& oid,
                                   const RemoteState& remote) {
  OwnedRevwalk walk;
  RB_CHECK(git_check(git_revwalk_new(into(walk), repository.get()), "walk the history"));
  git_revwalk_sorting(walk.get(), GIT_SORT_TOPOLOGICAL | GIT_SORT_REVERSE);
  RB_CHECK(git_check(git_revwalk_push(walk.get(), &oid), "walk the history"));
  for (const auto& head : remote.heads) {
    RB_TRY(const bool here, is_here(repository, head));
    // A head may be a tag or a tree by mistake of the remote; hiding less than possible only looks at more.
    if (here && git_revwalk_hide(walk.get(), &head) < 0) git_error_clear();
  }
  return walk;
}

// Every path that a commit changes against any of its parents.
Result<std::set<std::string>> changed_paths(const Repository& repository, git_commit* commit) {
  OwnedTree tree;
  RB_CHECK(git_check(git_commit_tree(into(tree), commit), "read a commit"));
  std::set<std::string> paths;
  const unsigned parents = git_commit_parentcount(commit);
  for (unsigned i = 0; i < std::max(parents, 1U); ++i) {
    OwnedTree before;
    if (i < parents) {
      OwnedCommit parent;
      RB_CHECK(git_check(git_commit_parent(into(parent), commit, i), "read a commit's parent"));
      RB_CHECK(git_check(git_commit_tree(into(before), parent.get()), "read a commit"));
    }
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    options.flags =
        GIT_DIFF_DISABLE_PATHSPEC_MATCH | GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_INCLUDE_TYPECHANGE;
    OwnedDiff diff;
    RB_CHECK(
        git_check(git_diff_tree_to_tree(into(diff), repository.get(), before.get(), tree.get(), &options),
                  "compare two commits"));
    for (std::size_t d = 0; d < git_diff_num_deltas(diff.get()); ++d) {
      paths.emplace(git_diff_get_delta(diff.get(), d)->new_file.path);
    }
  }
  return paths;
}

Result<void> check_paths(const std::set<std::string>& paths, const policy::PathRules& rules,
                         const git_oid& oid) {
  const bool denied = std::ranges::any_of(paths, [&](const std::string& path) { return rules.denied(path); });
  if (!denied) return {};
  return policy::refuse(
      codes::kPushDeniedPath,
      "a commit that would be pushed changes a path that policy denies; take it out of the history, "
      "or have the administrator push it with git",
      Json{{"commit", hex_of(oid)}});
}

std::string subject_of(git_commit* commit) {
  const char* summary = git_commit_summary(commit);
  std::string text = summary != nullptr ? summary : "";
  if (text.size() > kMaxSubjectBytes) text.resize(kMaxSubjectBytes);
  return text;
}

// The remote's tip must be in our history, else the push would throw commits away.
Result<void> check_fast_forward(const Repository& repository, const git_oid& oid, const RemoteState& remote) {
  if (!remote.tip || git_oid_equal(&*remote.tip, &oid) != 0) return {};
  RB_TRY(const bool here, is_here(repository, *remote.tip));
  const int descends = here ? git_graph_descendant_of(repository.get(), &oid, &*remote.tip) : 0;
  if (descends == 1) return {};
  RB_CHECK(git_check(descends, "compare the branch with the remote"));
  return policy::refuse(
      codes::kPushNonFastForward,
      "the remote branch has commits that this one lacks; fetch and merge or rebase with git, then "
      "push again",
      Json{{"remote_tip", hex_of(*remote.tip)}});
}

}  // namespace

Result<Json> plan_push(const Repository& repository) {
  RB_TRY(const auto head, repository.head());
  if (head.detached()) {
    return policy::refuse(codes::kDetachedHead,
                          "HEAD is detached, so there is no branch to push; switch to one first");
  }
  if (!head.oid) return policy::refuse(codes::kNothingToPush, "the branch has no commit yet");
  const auto upstream = repository.upstream_of(head);
  if (!upstream) {
    return policy::refuse(codes::kNoUpstream,
                          "the branch follows no branch of a remote, and none is guessed; set it once with "
                          "git branch --set-upstream-to, or push it once with git push -u");
  }
  RB_TRY(const auto url, remote_url(repository.config(), upstream->remote));
  RB_TRY(auto shallow, checked_shallow(repository));
  return Json{{"url", url},
              {"branch", head.branch()},
              {"upstream_branch", upstream->branch()},
              {"reference", upstream->reference},
              {"tracking", upstream->tracking},
              {"oid", hex_of(*head.oid)},
              {"shallow", std::move(shallow)}};
}

Result<Json> inspect_outgoing(const Repository& repository, const git_oid& oid, const RemoteState& remote,
                              const policy::PathRules& rules) {
  RB_CHECK(check_fast_forward(repository, oid, remote));
  RB_TRY(const auto walk, walk_outgoing(repository, oid, remote));
  Json commits = Json::array();
  git_oid next{};
  int code = 0;
  while ((code = git_revwalk_next(&next, walk.get())) == 0) {
    if (commits.size() == kMostCommits) {
      return policy::refuse(
          codes::kPushTooManyCommits,
          "more than 10000 commits would be pushed, too many to look at; push the first part with git");
    }
    OwnedCommit commit;
    RB_CHECK(git_check(git_commit_lookup(into(commit), repository.get(), &next), "read a commit"));
    RB_TRY(const auto paths, changed_paths(repository, commit.get()));
    RB_CHECK(check_paths(paths, rules, next));
    commits.push_back(
        Json{{"oid", hex_of(next)}, {"subject", subject_of(commit.get())}, {"paths_count", paths.size()}});
  }
  if (code != GIT_ITEROVER) return git_failure(code, "walk the history");
  const bool up_to_date = remote.tip && git_oid_equal(&*remote.tip, &oid) != 0;
  return Json{{"commits", std::move(commits)}, {"up_to_date", up_to_date}};
}

Result<void> track(const Repository& repository, const std::string& tracking, const git_oid& oid) {
  if (tracking.empty()) return {};
  RB_CHECK(audit_layout(repository.git_directory(), {tracking}));
  OwnedReference moved;
  return git_check(
      git_reference_create(into(moved), repository.get(), tracking.c_str(), &oid, 1, "update by push"),
      "move the tracking branch");
}

}  // namespace repobridge::git
