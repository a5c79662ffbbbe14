// The locks of a commit and the exchange of the index, held by the bridge, which reads none of the bytes.
//
// Promise: lock() takes HEAD.lock and index.lock as git does (so git itself waits or refuses meanwhile), both
// as names of one file of ours, so that a later start can tell our locks from anybody else's. publish() puts
// the new index in place and keeps the old one; roll_back() brings that back. Whatever step the machine stops
// at, the journal says which, and the repository is as before or fully committed. Owns: the locks and the
// scratch directory in .git; gone with release(), or with the destructor. Errors: REPO_HEAD_LOCKED,
// REPO_INDEX_LOCKED. Source: docs/ARCHITECTURE.md, "A commit"; gitrepository-layout(5).
#pragma once

#include <optional>
#include <string>

#include "platform/files.h"
#include "platform/result.h"
#include "platform/unique_fd.h"
#include "policy/json.h"

namespace repobridge::git {

class CommitGuard {
 public:
  // `journal_path`: in the bridge's own state directory; one commit per workdir, so one name per workdir.
  static Result<CommitGuard> lock(const std::string& root, std::string journal_path);
  CommitGuard(CommitGuard&&) noexcept = default;
  CommitGuard& operator=(CommitGuard&&) = delete;
  CommitGuard(const CommitGuard&) = delete;
  CommitGuard& operator=(const CommitGuard&) = delete;
  ~CommitGuard();

  // The guard of a commit that was interrupted, from its journal, to be finished or undone; nullopt when
  // there is no journal, or nothing is left of what it names.
  static Result<std::optional<CommitGuard>> adopt(std::string journal_path);
  // Of an adopted guard: {"reference", "old", "new"} when the new index may be in place, else null.
  [[nodiscard]] const policy::Json& interrupted_move() const { return move_; }

  [[nodiscard]] const std::string& root() const { return root_; }
  // Where the worker writes the new index.
  [[nodiscard]] std::string index_path() const;

  // `move`: {"reference", "old", "new"}, for the journal.
  Result<void> publish(const policy::Json& move);
  // Brings the old index back, unless somebody has replaced the new one meanwhile.
  Result<void> roll_back();
  void release();

 private:
  CommitGuard(std::string root, std::string journal_path, std::string scratch)
      : root_(std::move(root)), journal_path_(std::move(journal_path)), scratch_name_(std::move(scratch)) {}
  Result<void> make_scratch();
  Result<void> take(const char* lock_name, bool& taken);
  Result<void> write_journal() const;
  // False: the scratch directory is gone, and with it every lock of ours.
  Result<bool> read_journal(const policy::Json& journal);
  void drop(const char* lock_name);

  std::string root_;
  std::string journal_path_;
  std::string scratch_name_;  // below .git
  platform::UniqueFd git_directory_;
  platform::UniqueFd scratch_;
  platform::FileIdentity lock_file_;
  platform::FileIdentity new_index_;
  policy::Json move_;  // null until the new index is about to be put in place
  bool had_index_ = false;
  bool head_locked_ = false;
  bool index_locked_ = false;
};

}  // namespace repobridge::git
