// A pipe that no program inherits unless it is given an end by name.
//
// Owns: both ends. Threads: any. Errors: what the system answered. Source: pipe2(2), which is not everywhere
// (process_tree_posix.cc does without).
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

inline Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_failure("make a pipe", errno);
  return Pipe{.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
}

}  // namespace repobridge::platform
