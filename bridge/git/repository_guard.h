// What the bridge itself does in .git, reading none of the bytes: git's locks, the exchange of the index and
// the move of one reference.
//
// Promise: lock() takes git's own lock files (so git itself waits or refuses meanwhile), each as a name of
// one file of ours, so that a later start can tell our locks from anybody else's. publish() puts a new index
// in place and then the reference's new value, each by a rename; when the second cannot be done the first is
// undone. Whatever step everything stops at, the writer's record says which, and settle() brings the
// repository to one of its two ends. Owns: the locks and the scratch directory in .git, until release().
// Errors: REPO_HEAD_LOCKED, REPO_INDEX_LOCKED, REPO_REF_LOCKED (details.lock).
// Source: docs/ARCHITECTURE.md, "A commit"; gitrepository-layout(5).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridge/runs/lease.h"
#include "platform/files.h"
#include "platform/result.h"
#include "platform/unique_fd.h"
#include "policy/json.h"

namespace repobridge::git {

class RepositoryGuard {
 public:
  // Nothing is made yet. `lease` outlives the guard.
  static Result<RepositoryGuard> open(const runs::Lease& lease, const std::string& root);
  RepositoryGuard(RepositoryGuard&&) noexcept = default;
  RepositoryGuard& operator=(RepositoryGuard&&) noexcept = default;
  RepositoryGuard(const RepositoryGuard&) = delete;
  RepositoryGuard& operator=(const RepositoryGuard&) = delete;
  ~RepositoryGuard() = default;

  // Finishes or undoes what a writer was stopped at, by the `git` of its record. With the workdir's lock
  // held.
  static Result<void> settle(int root, const policy::Json& git);

  // What settle() would find.
  struct Standing {
    bool half_way = false;                   // it has something to do
    std::vector<std::string> foreign_locks;  // git's lock files that are not ours
  };
  static Result<Standing> look(int root, const policy::Json& git);

  // Makes the scratch directory. After an error of this or any step below release() is still due.
  Result<void> prepare();
  [[nodiscard]] const std::string& scratch_name() const { return scratch_name_; }
  // Where the worker writes a new index, if there is to be one.
  [[nodiscard]] std::string index_path() const;

  // `names`: what is locked, in that order: "HEAD", "index" or a reference.
  Result<void> lock(std::vector<std::string> names);

  // After success both are in place, after an error neither; or else release() fails too.
  Result<void> publish(const std::string& reference, const std::string& oid);

  // An error: something of ours is left in .git, and the lease's record must stay.
  Result<void> release();

 private:
  // One lock file of git's.
  struct Lock {
    platform::UniqueFd directory;
    std::string name;
  };

  RepositoryGuard(const runs::Lease* lease, std::string root, std::string scratch)
      : lease_(lease), root_(std::move(root)), scratch_name_(std::move(scratch)) {}
  Result<void> make_scratch();
  Result<void> take(const std::string& name);
  Result<void> note();
  Result<void> read_note(int root, const policy::Json& git);
  Result<void> exchange_index();
  Result<void> write_reference(const std::string& oid);
  Result<void> roll_back();
  [[nodiscard]] Result<bool> reference_waits() const;
  [[nodiscard]] Result<bool> ours(const Lock& lock) const;
  [[nodiscard]] Result<void> drop(const Lock& lock) const;

  const runs::Lease* lease_;  // null when settling
  std::string root_;
  std::string scratch_name_;  // below .git
  platform::UniqueFd git_directory_;
  platform::UniqueFd scratch_;
  std::optional<platform::FileIdentity> lock_file_;
  std::vector<std::string> names_;
  std::vector<Lock> locks_;
  bool publishing_ = false;
  std::optional<platform::FileIdentity> new_index_;  // absent: the index stays as it is
  bool had_index_ = false;
};

}  // namespace repobridge::git
