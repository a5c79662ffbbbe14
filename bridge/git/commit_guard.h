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

  // Where the worker writes the new index.
  [[nodiscard]] std::string index_path() const;

  // `move`: {"reference", "old", "new"}, for the journal.
  Result<void> publish(const policy::Json& move);
  Result<void> roll_back();
  void release();

 private:
  CommitGuard(std::string root, std::string journal_path, std::string scratch)
      : root_(std::move(root)), journal_path_(std::move(journal_path)), scratch_name_(std::move(scratch)) {}
  Result<void> open_directories();
  Result<void> take(const char* lock_name, bool& taken);
  Result<void> write_journal(const char* stage, const policy::Json& move) const;
  void drop(const char* lock_name);

  std::string root_;
  std::string journal_path_;
  std::string scratch_name_;  // below .git
  platform::UniqueFd git_directory_;
  platform::UniqueFd scratch_;
  platform::FileIdentity lock_file_;
  bool had_index_ = false;
  bool head_locked_ = false;
  bool index_locked_ = false;
};

}  // namespace repobridge::git
