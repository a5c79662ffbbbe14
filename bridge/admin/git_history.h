// A git worker of the administrator's command: what the bridge asks its own, asked without a bridge.
//
// Promise: the command itself reads no byte of the repository and starts no git; the worker is confined as
// the bridge's are, and killed when it takes longer than two minutes. Blocks while it waits. Owns: the
// process and the socket. Threads: one. Errors: REPO_GIT_FAILED, and what the worker refuses with. Source:
// bridge/git/worker_protocol.h.
#pragma once

#include <string>

#include "platform/child_process.h"
#include "platform/result.h"
#include "platform/unique_fd.h"
#include "policy/json.h"
#include "policy/repo_path.h"

namespace repobridge::admin {

class GitHistory {
 public:
  // `root`: the workdir's, absolute and without links.
  static Result<GitHistory> open(const std::string& root, bool sandbox_waived);

  // The answer of bridge/git/pinned_version.h.
  Result<policy::Json> since_pinned(const policy::RepoPath& path, const std::string& digest);

 private:
  GitHistory(platform::ChildProcess worker, platform::UniqueFd socket)
      : worker_(std::move(worker)), socket_(std::move(socket)) {}
  Result<policy::Json> ask(const policy::Json& question);

  platform::ChildProcess worker_;
  platform::UniqueFd socket_;
};

}  // namespace repobridge::admin
