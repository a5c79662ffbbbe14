// A tree of processes with one root that outlives them all: what repobridge-run is made of.
//
// Promise: after become_tree_root() every orphan below this process, at any depth and in whatever session it
// hides, becomes its child. So when reap() says `none_left`, nothing that start_leader() began is alive: the
// kernel's own answer (ECHILD), not a list of ids that may be stale.
// Threads: for a single-threaded program only; start_leader() forks.
// Source: prctl(2) PR_SET_CHILD_SUBREAPER, wait(2), proc(5).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "platform/child_process.h"
#include "platform/result.h"

namespace repobridge::platform {

// Own session, subreaper, unreadable to other processes of the user (no ptrace, no /proc/PID/mem), all
// signals blocked. The returned descriptor becomes readable when a child changes state.
Result<UniqueFd> become_tree_root();

// Starts argv[0] in a session of its own with this process's environment, directory and descriptors 0 to 2.
// It cannot gain privileges by exec and dies with this process. os_code of the error is what exec said.
Result<pid_t> start_leader(const std::vector<std::string>& argv);

// Asks the leader's process group to end; a stopped one is woken so that it can.
void ask_to_end(pid_t leader);

// One round over all descendants that can be found now: stop, then kill. New ones may appear meanwhile, so
// the caller repeats until reap() says none_left. Returns how many were found.
std::size_t kill_descendants();

struct Reaped {
  pid_t pid = 0;
  ExitStatus status;
};
struct ReapRound {
  std::vector<Reaped> ended;
  bool none_left = false;
};
ReapRound reap();

}  // namespace repobridge::platform
