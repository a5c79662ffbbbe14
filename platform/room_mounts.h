// What the mounts of a closed room are made of (platform/room.h).
//
// Promise: furnish() makes the whole tree read-only but for the places that it returns, which are private but
// for the workdir, and freezes what is to be frozen where that can be; hidden places are empty, or files that
// cannot be opened. The calling process's directory is the workdir as it is mounted now. Needs a mount
// namespace of its own and CAP_SYS_ADMIN in it; after an error the tree is in no state to be used. Threads:
// one. Errors: what the system answered. Source: mount_setattr(2), open_tree and move_mount of Linux 5.2.
#pragma once

#include <string>
#include <vector>

#include "platform/result.h"
#include "platform/room.h"

namespace repobridge::platform {

// Nothing that is mounted here is seen outside, and the other way round. Says whether mounts can be had at
// all.
bool detach_mounts();

// /proc with the calling process's own processes only, and read-only.
bool mount_own_proc();

// Of the plan: paths without links, of what is there.
struct RoomPlaces {
  std::vector<std::string> homes;
  std::vector<std::string> hidden;
};
RoomPlaces places_of(const RoomPlan& plan);

struct Furnished {
  std::vector<std::string> writable;  // places
  bool frozen = false;                // names of the workdir, all that the plan has
};
// `program` is put back, read-only, where a private directory hides it.
Result<Furnished> furnish(const RoomPlan& plan, const RoomPlaces& places, const std::string& program);

}  // namespace repobridge::platform
