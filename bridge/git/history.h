// The commits behind a commit, also in a shallow clone, where libgit2 walks on into commits that are not
// there.
//
// Promise: a commit that the shallow file lists has no parents here. Without that file libgit2's own walks
// serve, which stop early in long histories. Errors: REPO_UNSAFE_LAYOUT (a shallow file with something else
// in it), REPO_OBJECT_MISSING. Source: gitformat-pack(5), "shallow".
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bridge/git/repository.h"

namespace repobridge::git {

struct OidLess {
  bool operator()(const git_oid& one, const git_oid& other) const { return git_oid_cmp(&one, &other) < 0; }
};
using OidSet = std::set<git_oid, OidLess>;

class History {
 public:
  // As the repository's shallow file says now. The repository must outlive this.
  static Result<History> of(const Repository& repository);
  // As `shallow_text` said earlier.
  static Result<History> cut_by(const Repository& repository, std::optional<std::string> shallow_text);

  // The shallow file's text; nullopt when the history is whole.
  [[nodiscard]] const std::optional<std::string>& shallow_text() const { return shallow_text_; }

  // None for a commit where the history ends.
  [[nodiscard]] Result<std::vector<OwnedCommit>> parents(git_commit* commit) const;

  struct Distance {
    std::size_t ahead = 0;
    std::size_t behind = 0;
  };
  [[nodiscard]] Result<Distance> distance(const git_oid& from, const git_oid& other) const;

  // Whether `ancestor` is `commit` or behind it.
  [[nodiscard]] Result<bool> holds(const git_oid& commit, const git_oid& ancestor) const;

  // What is behind `commit` and not behind any of `known`, `commit` included; parents come before children.
  // Of `known`, what is no commit here is passed over. Ends early, without an error, after `most` commits.
  [[nodiscard]] Result<std::vector<git_oid>> beyond(const git_oid& commit, const std::vector<git_oid>& known,
                                                    std::size_t most) const;

 private:
  explicit History(const Repository& repository) : repository_(&repository) {}
  Result<void> read_ends();
  [[nodiscard]] Result<std::vector<git_oid>> walk(const std::vector<git_oid>& from,
                                                  const OidSet& known) const;
  [[nodiscard]] Result<OidSet> all_behind(const std::vector<git_oid>& from) const;
  [[nodiscard]] Result<std::vector<git_oid>> parent_oids(const git_oid& oid) const;
  [[nodiscard]] bool is_commit(const git_oid& oid) const;

  const Repository* repository_;
  std::optional<std::string> shallow_text_;
  OidSet ends_;  // where history is cut off
};

}  // namespace repobridge::git
