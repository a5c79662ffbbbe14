// What held a process tree together while it ran, as it was and not as it was wished.
//
//   L3  the tree's root adopts every orphan, the tree is a control group of its own, and Landlock keeps its
//       signals inside and the control groups out of its reach: it cannot end those who watch it, nor leave
//   L2  without the last: a program can end its root, and what it leaves is found by the control group
//   L1  without the control group: what is left of a tree whose root was ended is not found
//   L0  portable POSIX: a session, its process group, and a pipe that tells that somebody is left
//
// Source: docs/SECURITY.md, "What holds a run".
#pragma once

#include <string_view>

namespace repobridge::platform {

struct Containment {
  bool subreaper = false;
  bool control_group = false;
  int landlock_version = 0;  // 0: the program is not confined by it
  bool signal_scope = false;
};

constexpr std::string_view level_of(const Containment& held) {
  if (!held.subreaper) return "L0";
  if (!held.control_group) return "L1";
  return held.landlock_version > 0 && held.signal_scope ? "L3" : "L2";
}

}  // namespace repobridge::platform
