#include "bridge/git/outgoing.h"

#include <algorithm>
#include <map>
#include <string>

#include "bridge/git/history.h"
#include "bridge/wire/bounds.h"
#include "policy/codes.h"
#include "policy/push_content.h"
#include "policy/repo_path.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;

constexpr std::size_t kMostCommits = 10000;
constexpr std::size_t kMaxSubjectBytes = 200;
// Larger blobs are data that no secret is written into by hand; looking through them takes too long.
constexpr std::size_t kMaxScannedBytes = 32U << 20U;

// One path that a commit changes.
struct Change {
  git_oid now{};                // zeros: removed
  std::vector<git_oid> before;  // in each parent; zeros: not there
  bool is_file = false;         // now
};
using Changes = std::map<std::string, Change>;

Result<Changes> changes_against(const Repository& repository, git_tree* before, git_tree* after) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_DISABLE_PATHSPEC_MATCH | GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_INCLUDE_TYPECHANGE;
  OwnedDiff diff;
  RB_CHECK(git_check(git_diff_tree_to_tree(into(diff), repository.get(), before, after, &options),
                     "compare two commits"));
  Changes changes;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(diff.get(), i);
    Change change;
    git_oid_cpy(&change.now, &delta->new_file.id);
    change.before.push_back(delta->old_file.id);
    change.is_file = delta->status != GIT_DELTA_DELETED && delta->new_file.mode != GIT_FILEMODE_COMMIT;
    changes.emplace(delta->new_file.path, std::move(change));
  }
  return changes;
}

// What a merge has like one of its parents came with that parent, and was or is looked at there.
void keep_common(Changes& changes, const Changes& other) {
  for (auto it = changes.begin(); it != changes.end();) {
    const auto match = other.find(it->first);
    if (match == other.end()) {
      it = changes.erase(it);
      continue;
    }
    it->second.before.push_back(match->second.before.front());
    ++it;
  }
}

Result<Changes> changes_of(const Repository& repository, const History& history, git_commit* commit) {
  OwnedTree tree;
  RB_CHECK(git_check(git_commit_tree(into(tree), commit), "read a commit"));
  RB_TRY(const auto parents, history.parents(commit));
  if (parents.empty())
    return changes_against(repository, nullptr, tree.get());  // a first commit adds all it has
  Changes common;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    OwnedTree before;
    RB_CHECK(git_check(git_commit_tree(into(before), parents[i].get()), "read a commit"));
    RB_TRY(auto changes, changes_against(repository, before.get(), tree.get()));
    if (i == 0) {
      common = std::move(changes);
    } else {
      keep_common(common, changes);
    }
  }
  return common;
}

Json commit_json(const git_oid& oid, git_commit* commit, std::size_t paths_count) {
  const char* summary = git_commit_summary(commit);
  const std::string subject(wire::cut_text(summary != nullptr ? summary : "", kMaxSubjectBytes));
  return Json{{"oid", hex_of(oid)}, {"subject", subject}, {"paths_count", paths_count}};
}

Result<OwnedCommit> read_commit(const Repository& repository, const git_oid& oid) {
  OwnedCommit commit;
  RB_CHECK(git_check(git_commit_lookup(into(commit), repository.get(), &oid), "read a commit"));
  return commit;
}

// Looks at one commit after another, at each blob once.
class Inspector {
 public:
  Inspector(const Repository& repository, const OutgoingRules& rules)
      : repository_(&repository), rules_(&rules) {}

  Result<void> look_at(const git_oid& commit, const Changes& changes) {
    for (const auto& [path, change] : changes) {
      RB_CHECK(check_path(commit, path));
      if (change.is_file && seen_.insert(change.now).second) RB_CHECK(check_blob(commit, path, change));
    }
    return {};
  }

 private:
  [[nodiscard]] Result<void> check_path(const git_oid& commit, const std::string& path) const {
    if (rules_->paths.denied(path)) {
      return policy::refuse(
          codes::kPushDeniedPath,
          "a commit that would be pushed changes a path that policy denies; take it out of the history, "
          "or have the administrator push it with git",
          Json{{"commit", hex_of(commit)}});
    }
    if (!rules_->ci_changes_allowed && policy::is_ci_definition(path)) {
      return refuse_commit(
          codes::kPushCiChange,
          "a commit that would be pushed changes what the forge executes on arrival; policy does not "
          "allow that (WORKDIR_XX_PUSH_CI_CHANGES)",
          commit, path);
    }
    return {};
  }

  [[nodiscard]] Result<void> check_blob(const git_oid& commit, const std::string& path,
                                        const Change& change) const {
    RB_TRY(const auto content, read(change.now));
    if (policy::is_lfs_pointer(content)) {
      return refuse_commit(
          codes::kPushLfs,
          "a commit that would be pushed holds a Git LFS pointer, and the file behind it would not "
          "come along; push it with git and git-lfs",
          commit, path);
    }
    if (content.size() > kMaxScannedBytes) return {};
    std::string before;
    for (const auto& oid : change.before) {
      if (git_oid_is_zero(&oid) != 0) continue;
      const auto old = read(oid);
      // What it was before may be missing here (a partial clone) or no file; then all of it counts as added.
      if (old) before += *old + "\n";
    }
    if (!policy::adds_provider_secret(content, before)) return {};
    return refuse_commit(
        codes::kPushSecret,
        "a commit that would be pushed adds what has the form of a provider's secret; take it out of "
        "the history, and have the secret replaced if it is one",
        commit, path);
  }

  [[nodiscard]] Failure refuse_commit(const policy::Code& code, std::string message, const git_oid& commit,
                                      const std::string& path) const {
    Json details{{"commit", hex_of(commit)}};
    if (rules_->paths.visible(path)) details["path"] = policy::path_text(path);
    return policy::refuse(code, std::move(message), std::move(details));
  }

  [[nodiscard]] Result<std::string> read(const git_oid& oid) const {
    OwnedBlob blob;
    RB_CHECK(git_check(git_blob_lookup(into(blob), repository_->get(), &oid), "read a stored file"));
    return std::string(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                       static_cast<std::size_t>(git_blob_rawsize(blob.get())));
  }

  const Repository* repository_;
  const OutgoingRules* rules_;
  OidSet seen_;
};

// The remote's tip must be in our history, else the push would throw commits away.
Result<void> check_fast_forward(const History& history, const Outgoing& outgoing) {
  if (!outgoing.remote_tip) return {};
  RB_TRY(const bool held, history.holds(outgoing.oid, *outgoing.remote_tip));
  if (held) return {};
  return policy::refuse(codes::kPushNonFastForward,
                        "the remote branch has commits that this one lacks; fetch and merge or rebase with "
                        "git, then push again",
                        Json{{"remote_tip", hex_of(*outgoing.remote_tip)}});
}

}  // namespace

Result<Json> inspect_outgoing(const Repository& repository, const Outgoing& outgoing,
                              const OutgoingRules& rules) {
  RB_TRY(const auto history, History::cut_by(repository, outgoing.shallow));
  RB_CHECK(check_fast_forward(history, outgoing));
  RB_TRY(const auto oids, history.beyond(outgoing.oid, outgoing.remote_heads, kMostCommits + 1));
  if (oids.size() > kMostCommits) {
    return policy::refuse(
        codes::kPushTooManyCommits,
        "more than 10000 commits would be pushed, too many to look at; push the first part with git");
  }
  Inspector inspector(repository, rules);
  Json commits = Json::array();
  for (const auto& next : oids) {
    RB_TRY(const auto commit, read_commit(repository, next));
    RB_TRY(const auto changes, changes_of(repository, history, commit.get()));
    RB_CHECK(inspector.look_at(next, changes));
    commits.push_back(commit_json(next, commit.get(), changes.size()));
  }
  const bool up_to_date = outgoing.remote_tip && git_oid_equal(&*outgoing.remote_tip, &outgoing.oid) != 0;
  return Json{{"commits", std::move(commits)}, {"up_to_date", up_to_date}};
}

Result<Json> list_outgoing(const Repository& repository, const git_oid& oid, const git_oid& known,
                           std::size_t most) {
  RB_TRY(const auto history, History::of(repository));
  RB_TRY(const auto outgoing, history.beyond(oid, {known}, most));
  Json commits = Json::array();
  for (const auto& next : outgoing) {
    RB_TRY(const auto commit, read_commit(repository, next));
    RB_TRY(const auto changes, changes_of(repository, history, commit.get()));
    commits.push_back(commit_json(next, commit.get(), changes.size()));
  }
  return commits;
}

}  // namespace repobridge::git
