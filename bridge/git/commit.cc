#include "bridge/git/commit.h"

#include <algorithm>
#include <array>

#include "bridge/git/history.h"
#include "bridge/git/layout.h"
#include "bridge/git/reference.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;
using policy::RepoPath;

// How far back the last commit of a path is looked for, when there is nothing to commit.
constexpr std::size_t kHistoryDepth = 1000;

Failure head_moved() {
  return policy::refuse(codes::kHeadMoved, "the branch moved meanwhile; look at status, then call again");
}

// The oid of `path` in `tree`, or zeros.
git_oid entry_oid(git_tree* tree, const RepoPath& path) {
  git_oid oid{};
  OwnedTreeEntry entry;
  if (tree != nullptr && git_tree_entry_bypath(into(entry), tree, path.bytes().c_str()) == 0) {
    git_oid_cpy(&oid, git_tree_entry_id(entry.get()));
  }
  return oid;
}

Result<bool> touches(const History& history, git_commit* commit, const std::vector<RepoPath>& paths) {
  OwnedTree tree;
  OwnedTree before;
  RB_CHECK(git_check(git_commit_tree(into(tree), commit), "read a commit"));
  RB_TRY(const auto parents, history.parents(commit));
  if (!parents.empty()) {
    RB_CHECK(git_check(git_commit_tree(into(before), parents.front().get()), "read a commit"));
  }
  return std::ranges::any_of(paths, [&](const RepoPath& path) {
    const git_oid now = entry_oid(tree.get(), path);
    const git_oid then = entry_oid(before.get(), path);
    return git_oid_equal(&now, &then) == 0;
  });
}

bool older(const OwnedCommit& one, const OwnedCommit& other) {
  return git_commit_time(one.get()) < git_commit_time(other.get());
}

// A caller whose commit was made but whose answer was lost finds it here. Newest first, as far as is
// reasonable.
Result<Json> last_commit_of(const Repository& repository, const git_oid& head,
                            const std::vector<RepoPath>& paths) {
  RB_TRY(const auto history, History::of(repository));
  std::vector<OwnedCommit> open(1);  // a heap
  OidSet seen;
  RB_CHECK(git_check(git_commit_lookup(into(open.front()), repository.get(), &head), "read a commit"));
  for (std::size_t i = 0; i < kHistoryDepth && !open.empty(); ++i) {
    std::ranges::pop_heap(open, older);
    const OwnedCommit commit = std::move(open.back());
    open.pop_back();
    RB_TRY(const bool touched, touches(history, commit.get(), paths));
    if (touched) return Json(hex_of(*git_commit_id(commit.get())));
    RB_TRY(auto parents, history.parents(commit.get()));
    for (auto& parent : parents) {
      if (!seen.insert(*git_commit_id(parent.get())).second) continue;
      open.push_back(std::move(parent));
      std::ranges::push_heap(open, older);
    }
  }
  return Json();
}

std::string subject_of(const std::string& message) { return message.substr(0, message.find('\n')); }

struct Change {
  Json paths = Json::array();
  std::size_t files = 0;
  std::size_t insertions = 0;
  std::size_t deletions = 0;
};

Result<Change> change_between(const Repository& repository, git_tree* before, git_tree* after) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_DISABLE_PATHSPEC_MATCH | GIT_DIFF_IGNORE_SUBMODULES;
  OwnedDiff diff;
  RB_CHECK(git_check(git_diff_tree_to_tree(into(diff), repository.get(), before, after, &options),
                     "compare two commits"));
  Change change;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    change.paths.push_back(policy::path_text(git_diff_get_delta(diff.get(), i)->new_file.path));
    OwnedPatch patch;
    RB_CHECK(git_check(git_patch_from_diff(into(patch), diff.get(), i), "compare two versions of a file"));
    std::size_t insertions = 0;
    std::size_t deletions = 0;
    if (patch) {
      RB_CHECK(git_check(git_patch_line_stats(nullptr, &insertions, &deletions, patch.get()), "count lines"));
    }
    change.insertions += insertions;
    change.deletions += deletions;
  }
  change.files = change.paths.size();
  return change;
}

}  // namespace

Result<CommitBuilder> CommitBuilder::begin(const Repository& repository, CommitOrder order) {
  CommitBuilder builder(repository, std::move(order));
  RB_TRY(builder.head_, repository.head());
  RB_TRY(const auto operation, repository.operation());
  if (operation) {
    return policy::refuse(
        codes::kOperationInProgress,
        "a git operation is in progress (details.operation); finish or abort it with git first",
        Json{{"operation", *operation}});
  }
  if (builder.head_.detached()) {
    return policy::refuse(
        codes::kDetachedHead,
        "HEAD is detached, and a commit there would belong to no branch; switch to a branch first");
  }
  RB_CHECK(audit_layout(repository.git_directory(), {builder.head_.reference}));
  if (!builder.head_.oid) RB_CHECK(check_name_free(repository, builder.head_.reference));
  RB_CHECK(builder.read_signature());
  return builder;
}

Result<void> CommitBuilder::read_signature() {
  if (order_.identity) {
    const auto& identity = *order_.identity;
    RB_CHECK(git_check(git_signature_now(into(signature_), identity.name.c_str(), identity.email.c_str()),
                       "use the configured identity"));
  } else if (git_signature_default(into(signature_), repository_->get()) < 0) {
    git_error_clear();
    return policy::refuse(codes::kIdentityMissing,
                          "git knows no author: set user.name and user.email for the bridge's user, or "
                          "WORKDIR_XX_GIT_USER_NAME and _GIT_USER_EMAIL");
  }
  return {};
}

Result<void> CommitBuilder::check_head_unmoved() {
  RB_TRY(const auto now, repository_->head());
  const bool same_commit = now.oid.has_value() == head_.oid.has_value() &&
                           (!now.oid || git_oid_equal(&*now.oid, &*head_.oid) != 0);
  if (now.reference != head_.reference || !same_commit) return head_moved();
  return {};
}

Result<void> CommitBuilder::read_head_tree() {
  if (!head_.oid) return {};
  RB_CHECK(
      git_check(git_commit_lookup(into(parent_), repository_->get(), &*head_.oid), "read the last commit"));
  return git_check(git_commit_tree(into(head_tree_), parent_.get()), "read the last commit's tree");
}

Result<BuiltCommit> CommitBuilder::build(const std::string& index_path) {
  RB_CHECK(check_head_unmoved());
  RB_CHECK(read_head_tree());
  RB_TRY(const auto copy, repository_->copy_index_to(index_path));
  git_index* index = copy.index.get();
  RB_CHECK(check_nothing_staged(*repository_, index, head_tree_.get(), order_.rules));
  RB_CHECK(stage(*repository_, index, head_tree_.get(), order_.paths, order_.expect, order_.rules));

  BuiltCommit built;
  git_oid tree_oid{};
  RB_CHECK(git_check(git_index_write_tree(&tree_oid, index), "write the tree"));
  if (head_tree_ && git_oid_equal(&tree_oid, git_tree_id(head_tree_.get())) != 0) {
    // What is missing of the history, in a partial clone say, is no reason to refuse in other words.
    auto last = last_commit_of(*repository_, *head_.oid, order_.paths).value_or(Json());
    return policy::refuse(
        codes::kNothingToCommit,
        "the named files are as the last commit has them; details.last_commit is the newest one "
        "that changed them",
        Json{{"head", hex_of(*head_.oid)}, {"last_commit", std::move(last)}});
  }
  OwnedTree tree;
  RB_CHECK(git_check(git_tree_lookup(into(tree), repository_->get(), &tree_oid), "read the new tree"));
  const std::array<const git_commit*, 1> parents{parent_.get()};
  RB_CHECK(
      git_check(git_commit_create(&built.oid, repository_->get(), nullptr, signature_.get(), signature_.get(),
                                  nullptr, order_.message.c_str(), tree.get(), parent_ ? parents.size() : 0,
                                  // libgit2 takes the array of parents as non-const for history's sake
                                  const_cast<const git_commit**>(parents.data())),  // NOLINT
                "write the commit"));
  if (copy.original) RB_CHECK(smudge_racy_entries(index, copy.original->modified_ns, order_.paths));
  RB_CHECK(git_check(git_index_write(index), "write the new index"));
  RB_TRY(auto change, change_between(*repository_, head_tree_.get(), tree.get()));
  built.summary = Json{{"commit", hex_of(built.oid)},
                       {"parent", head_.oid ? Json(hex_of(*head_.oid)) : Json()},
                       {"branch", policy::path_text(head_.branch())},
                       {"paths", std::move(change.paths)},
                       {"files_changed", change.files},
                       {"insertions", change.insertions},
                       {"deletions", change.deletions}};
  RB_CHECK(log(built.oid));
  return built;
}

Result<void> CommitBuilder::log(const git_oid& commit) {
  const Move move{.reference = head_.reference, .from = head_.oid, .to = commit};
  const std::string message = (head_.oid ? "commit: " : "commit (initial): ") + subject_of(order_.message);
  RB_CHECK(log_move(*repository_, move.reference, move, *signature_, message));
  return log_move(*repository_, "HEAD", move, *signature_, message);
}

}  // namespace repobridge::git
