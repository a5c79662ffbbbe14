#include "bridge/git/outgoing.h"

#include <algorithm>
#include <set>

#include "bridge/git/history.h"
#include "bridge/git/layout.h"
#include "policy/codes.h"
#include "policy/repo_path.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;

constexpr std::size_t kMostCommits = 10000;
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

// Every path that a commit changes against any of its parents.
Result<std::set<std::string>> changed_paths(const Repository& repository, const History& history,
                                            git_commit* commit) {
  OwnedTree tree;
  RB_CHECK(git_check(git_commit_tree(into(tree), commit), "read a commit"));
  RB_TRY(const auto parents, history.parents(commit));
  std::vector<OwnedTree> before(std::max<std::size_t>(parents.size(), 1));  // a first commit adds all it has
  for (std::size_t i = 0; i < parents.size(); ++i) {
    RB_CHECK(git_check(git_commit_tree(into(before[i]), parents[i].get()), "read a commit"));
  }
  std::set<std::string> paths;
  for (const auto& one : before) {
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    options.flags =
        GIT_DIFF_DISABLE_PATHSPEC_MATCH | GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_INCLUDE_TYPECHANGE;
    OwnedDiff diff;
    RB_CHECK(git_check(git_diff_tree_to_tree(into(diff), repository.get(), one.get(), tree.get(), &options),
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
Result<void> check_fast_forward(const History& history, const git_oid& oid, const RemoteState& remote) {
  if (!remote.tip) return {};
  RB_TRY(const bool held, history.holds(oid, *remote.tip));
  if (held) return {};
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
  RB_TRY(const auto history, History::of(repository));
  return Json{{"url", url},
              {"branch", head.branch()},
              {"upstream_branch", upstream->branch()},
              {"reference", upstream->reference},
              {"tracking", upstream->tracking},
              {"oid", hex_of(*head.oid)},
              {"shallow", history.shallow_text() ? Json(*history.shallow_text()) : Json()}};
}

Result<Json> inspect_outgoing(const Repository& repository, const git_oid& oid, const RemoteState& remote,
                              const policy::PathRules& rules) {
  RB_TRY(const auto history, History::of(repository));
  RB_CHECK(check_fast_forward(history, oid, remote));
  RB_TRY(const auto outgoing, history.beyond(oid, remote.heads, kMostCommits + 1));
  if (outgoing.size() > kMostCommits) {
    return policy::refuse(
        codes::kPushTooManyCommits,
        "more than 10000 commits would be pushed, too many to look at; push the first part with git");
  }
  Json commits = Json::array();
  for (const auto& next : outgoing) {
    OwnedCommit commit;
    RB_CHECK(git_check(git_commit_lookup(into(commit), repository.get(), &next), "read a commit"));
    RB_TRY(const auto paths, changed_paths(repository, history, commit.get()));
    RB_CHECK(check_paths(paths, rules, next));
    commits.push_back(
        Json{{"oid", hex_of(next)}, {"subject", subject_of(commit.get())}, {"paths_count", paths.size()}});
  }
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
