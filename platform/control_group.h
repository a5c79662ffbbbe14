// Control groups, version 2: a directory of the kernel's that holds processes, and with them whatever they
// start, in whatever session or under whatever parent it hides.
//
// Promise: a group is a fresh directory and is never used again once its processes were killed. It is found
// where this machine mounts the hierarchy, and by which part of it this process may see. remove() succeeds
// only when no process is in it, which is the kernel's own word. Owns: ControlGroup owns a descriptor; the
// directory stays until somebody removes it. Threads: any. Errors: what the system answered; ENODATA in
// os_code where the machine has no such hierarchy. Source: Documentation/admin-guide/cgroup-v2.rst;
// cgroups(7).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {

// The places where the hierarchy is mounted, out of /proc/self/mountinfo's text.
std::vector<std::string> control_group_mounts(std::string_view mountinfo);
// The directory of the process itself, out of that and the text of /proc/self/cgroup.
Result<std::string> control_group_in(std::string_view mountinfo, std::string_view membership);

// The same of this process, now.
Result<std::vector<std::string>> control_group_mounts();
Result<std::string> own_control_group();

// Whether this process may make groups in `directory`, which must be its own group or above it, and move
// processes into them: by trying the former. An error says why not.
Result<void> check_delegated(const std::string& directory);

class ControlGroup {
 public:
  static Result<ControlGroup> make(const std::string& path);
  // An existing one; refused when it is no control group.
  static Result<ControlGroup> open(const std::string& path);

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  // Every process in it and below, whoever it belongs to.
  [[nodiscard]] Result<void> kill() const;
  [[nodiscard]] Result<bool> populated() const;
  // With the groups that its processes made in it. An error, and it stays, when a process is left.
  [[nodiscard]] Result<void> remove() const;

 private:
  ControlGroup(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

// Kills what is in it and removes it. After success nothing that was in it is alive. Blocks, at most so long.
Result<void> end_control_group(const std::string& path, std::chrono::milliseconds limit);

}  // namespace repobridge::platform
