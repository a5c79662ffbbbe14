// Starting a program and knowing when it ended.
//
// Promise: the child gets exactly what the request names: argument vector, environment, working directory and
// descriptors 0, 1, 2, 3…; every other descriptor is closed, every signal handler reset, no signal blocked.
// No shell is involved. The program is started without copying this process, so its size costs nothing.
// Owns: ChildProcess owns the process: destroying it before it was reaped kills it and waits.
// Threads: spawn from any; a ChildProcess belongs to one.
// Errors: START_FAILED with os_code (ENOENT, EACCES, ENOEXEC …).
// Source: posix_spawn(3), pidfd_open(2).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {

struct SpawnRequest {
  std::string program;                   // absolute path
  std::vector<std::string> argv;         // argv[0] included
  std::vector<std::string> environment;  // NAME=value, nothing else is inherited
  int standard_input = -1;               // -1: /dev/null
  int standard_output = -1;              // -1: /dev/null
  int standard_error = -1;               // -1: ours
  std::vector<int> passed;               // become descriptors 3, 4, … in the child; still the caller's here
  int working_directory = -1;            // a directory's descriptor; -1: ours
};

struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
  [[nodiscard]] bool success() const { return code == 0; }
};

class ChildProcess {
 public:
  static Result<ChildProcess> spawn(const SpawnRequest& request);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Becomes readable when the process has ended. Still ours.
  [[nodiscard]] int exit_fd() const { return exit_fd_.get(); }
  // Never reaches another process that got the same id. Nothing happens when the process has ended.
  void signal(int number) const;
  // Takes the exit status; blocks when the process has not ended. Once only. Neither code nor signal when the
  // status is lost, as in a process that ignores SIGCHLD.
  ExitStatus reap();

 private:
  ChildProcess(pid_t pid, UniqueFd exit_fd) : pid_(pid), exit_fd_(std::move(exit_fd)) {}
  pid_t pid_ = -1;
  UniqueFd exit_fd_;
};

}  // namespace repobridge::platform
