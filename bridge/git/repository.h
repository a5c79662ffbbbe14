// A repository opened so that nothing in it is obeyed: the one way in for every operation.
//
// Promise: never libgit2's ordinary open. The work tree is exactly the workdir's root and .git is a real
// directory in it, both of this user; the layout was audited; the local configuration was parsed by us, and
// only an allow-list of harmless keys is handed on; formats we do not know are refused by name. Owns: the
// repository and its descriptors. Not to be moved while objects of it live. Threads: one. Errors:
// REPO_NOT_A_REPOSITORY, REPO_UNSUPPORTED_LAYOUT, REPO_UNSUPPORTED_FORMAT, REPO_OWNERSHIP,
// REPO_UNSAFE_LAYOUT, REPO_ALTERNATES, REPO_CONFIG_INVALID, GIT_USER_CONFIG_INVALID.
// Source: docs/SECURITY.md, "The repository's configuration"; gitrepository-layout(5).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridge/git/git2.h"
#include "bridge/git/local_config.h"
#include "bridge/git/user_config.h"
#include "platform/files.h"
#include "platform/result.h"

namespace repobridge::git {

// Where HEAD points.
struct Head {
  std::string reference;       // refs/heads/…, empty when detached
  std::optional<git_oid> oid;  // absent on a branch without commits
  [[nodiscard]] bool detached() const { return reference.empty(); }
  [[nodiscard]] std::string branch() const;  // the short name
};

struct Upstream {
  std::string remote;     // its name in the configuration
  std::string reference;  // on the remote: refs/heads/…
  std::string tracking;   // here: refs/remotes/…, empty when no plain refspec maps it
  [[nodiscard]] std::string branch() const;
};

class Repository {
 public:
  // `root`: absolute, without links. `user`: what the user's own configuration says; must outlive this.
  static Result<Repository> open(const std::string& root, const UserConfig& user);

  [[nodiscard]] git_repository* get() const { return repository_.get(); }
  [[nodiscard]] int root() const { return root_.get(); }
  [[nodiscard]] int git_directory() const { return git_directory_.get(); }
  [[nodiscard]] const LocalConfig& config() const { return config_; }

  [[nodiscard]] Result<Head> head() const;
  // Of every remote, as configured.
  [[nodiscard]] std::vector<std::string> remote_urls() const;
  // Where a reference is; nullopt when there is none of that name.
  [[nodiscard]] Result<std::optional<git_oid>> value_of(const std::string& reference) const;
  // merge, rebase, cherry_pick, revert, bisect or am; nullopt when none is under way.
  [[nodiscard]] Result<std::optional<std::string>> operation() const;
  // What the branch is set up to follow; nullopt when it is not, or when the names are no plain branch.
  [[nodiscard]] std::optional<Upstream> upstream_of(const Head& head) const;

  // A private copy of the index as it is now, which the repository uses from then on. `original` is absent
  // when there was none.
  struct IndexCopy {
    platform::UniqueFd memory;
    OwnedIndex index;
    std::optional<platform::FileFacts> original;
  };
  // In memory, for looking only.
  [[nodiscard]] Result<IndexCopy> read_index() const;
  // As a new file at `path`, which git_index_write() then replaces.
  [[nodiscard]] Result<IndexCopy> copy_index_to(const std::string& path) const;

 private:
  friend Result<Situation> audit_workdir(const std::string& root);
  Repository() = default;
  Result<void> open_directories(const std::string& root);
  Result<void> read_config();
  Result<void> open_library(const std::string& root, const UserConfig& user);
  [[nodiscard]] Result<std::string> head_content() const;
  void show_present_files(git_index* index) const;
  [[nodiscard]] Result<std::optional<std::string>> index_bytes(IndexCopy& copy) const;
  Result<void> open_index(IndexCopy& copy, const std::string& path) const;

  platform::UniqueFd root_;
  platform::UniqueFd git_directory_;
  platform::UniqueFd config_copy_;
  LocalConfig config_;
  platform::UniqueFd objects_;  // outlives the repository, which reads through it
  OwnedRepository repository_;
};

// The first half of Repository::open() alone: whose it is and what it is made of, before libgit2 sees any of
// it; and what the user's configuration may make depend on it.
Result<Situation> audit_workdir(const std::string& root);

// The index's bytes with a valid checksum in place of the zeros that index.skipHash leaves.
std::string with_checksum(std::string index_bytes);

}  // namespace repobridge::git
