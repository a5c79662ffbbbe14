// Giving up power for good: what this process cannot do any more, whatever the bytes it reads make it do.
//
// Promise: after enter_sandbox() the kernel refuses, for this process and for ever: every file but the
// granted ones (by descriptor, so by object and not by name), starting programs and processes, sockets of any
// kind, signals to others, ptrace, mounts, namespaces, changes of owner, attributes or times of files, links
// that are symbolic, and every system call that is not on the list. Descriptors that are open already stay as
// they are. Threads: call it while there is one. Errors: SANDBOX_UNAVAILABLE when the kernel lacks a layer;
// then nothing was given up. Source: landlock(7), seccomp(2).
#pragma once

#include <cstdint>
#include <vector>

#include "platform/result.h"

namespace repobridge::platform {

enum class Access : std::uint8_t {
  read,   // files and directories below it
  write,  // and create, replace and remove regular files and directories there
};

struct Grant {
  int descriptor = -1;  // of a file or directory; needed only during the call
  Access access = Access::read;
};

Result<void> enter_sandbox(const std::vector<Grant>& grants);
// Whether it can be entered here: by a process that does and ends. For programs with one thread.
Result<void> try_sandbox();

// Bounds that hold without any of this: no core file, so much processor time, so large a file, so many
// descriptors.
struct ResourceLimits {
  std::uint64_t processor_seconds = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t descriptors = 0;
};
Result<void> limit_resources(const ResourceLimits& limits);

}  // namespace repobridge::platform
