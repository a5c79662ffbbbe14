// repobridge lease exec: a command of the administrator's as the one writer of a workdir.
//
// Promise: the command runs under repobridge-run in the workdir's directory, with this process's environment
// and standard streams, while the workdir's lease is held; SIGINT, SIGTERM and SIGHUP ask it to end and give
// it the grace that a run has. The lease is released only when everything that the command started is proven
// gone; else the workdir asks for recovery. The exit code is the command's own, 128 + N when signal N ended
// it, and kExecRefused for what is not the command's: a refusal, which is told on stderr.
// Threads: none other may be there. Source: docs/OPERATIONS.md, "Other writers".
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bridge/admin/command.h"
#include "bridge/admin/workdir_place.h"

namespace repobridge::admin {

inline constexpr int kExecRefused = 125;

struct ExecRequest {
  std::vector<std::string> command;
  std::chrono::seconds wait{0};  // for another writer
};

// An error is a refusal.
Result<int> exec_under_lease(const WorkdirPlace& place, const ExecRequest& request);

}  // namespace repobridge::admin
