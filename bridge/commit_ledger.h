// The commits that this bridge made, by their ids: what WORKDIR_XX_PUSH_ONLY_BRIDGE_COMMITS asks for.
//
// Promise: add() is on disk when it returns. Lines that are no commit id are passed over when reading.
// Threads: the event loop's one.
#pragma once

#include <set>
#include <string>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::bridge {

class CommitLedger {
 public:
  static Result<CommitLedger> open(const std::string& state_dir);
  Result<void> add(const std::string& oid);
  [[nodiscard]] Result<std::set<std::string>> all() const;

 private:
  CommitLedger(std::string state_dir, platform::UniqueFd file)
      : state_dir_(std::move(state_dir)), file_(std::move(file)) {}
  std::string state_dir_;
  platform::UniqueFd file_;
};

}  // namespace repobridge::bridge
