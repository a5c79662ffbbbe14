// A tree of processes with one root that outlives them all: what repobridge-run is made of.
//
// Promise: on Linux every orphan below the root, at any depth and in whatever session it hides, becomes its
// child, and the leader is born into a control group of its own where one may be made. So when reap() says
// `none_left`, nothing that start() began is alive: the kernel's own answers (no child, an empty group), not
// a list of ids that may be stale. The portable tree cannot adopt: it holds a pipe that everything inherits,
// and whoever closes every descriptor and leaves the process group gets away from it.
// containment() says what held, and is never more than what held.
// Owns: the tree, its control group included; destroyed, it ends nothing. Threads: for a single-threaded
// program only, once in it; start() forks. Errors: what the system answered; START_FAILED from start().
// Source: prctl(2) PR_SET_CHILD_SUBREAPER, wait(2), proc(5), cgroups(7), landlock(7).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "platform/child_process.h"
#include "platform/containment.h"
#include "platform/result.h"

namespace repobridge::platform {

struct Reaped {
  pid_t pid = 0;
  ExitStatus status;
};
struct ReapRound {
  std::vector<Reaped> ended;
  bool none_left = false;
};

inline constexpr int kRoomDescriptor = 3;

class ProcessTree {
 public:
  // Makes this process the root: own session, unreadable to other processes of the user (no ptrace, no
  // /proc/PID/mem), all signals blocked. `control_group`: where the tree's group is to be made, "" for none.
  static Result<ProcessTree> root(std::string control_group);
  ProcessTree(ProcessTree&& other) noexcept;
  ProcessTree& operator=(ProcessTree&&) = delete;
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;
  ~ProcessTree();

  // Becomes readable when a child changes its state; take_changes() makes it wait for the next one. Still
  // ours.
  [[nodiscard]] int changes() const;
  void take_changes() const;

  // Before start(): what is going to be tried. After: what holds.
  [[nodiscard]] const Containment& containment() const;

  // Starts argv[0] in a session of its own with this process's environment, directory and descriptors 0 to 2.
  // It cannot gain privileges by exec and dies with this process. Once only. os_code of the error is what
  // exec said. `room`: argv is a room (platform/room.h), which mounts and so enters the Landlock rules by
  // itself, or ends; it gets this descriptor as kRoomDescriptor. -1 for any other program.
  Result<pid_t> start(const std::vector<std::string>& argv, int room = -1);

  // Asks the leader's process group to end; a stopped one is woken so that it can.
  void ask_to_end() const;

  // One round over all that can be found now. New ones may appear meanwhile, so the caller repeats until
  // reap() says none_left. Returns how many were found.
  std::size_t kill_all();

  // Who has ended since, and whether nothing is left.
  ReapRound reap();

 private:
  struct State;
  explicit ProcessTree(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace repobridge::platform
