// A workdir in which some names stay what they are, whoever writes to it meanwhile.
//
// Promise: freeze() copies what stands at these names now into memory that no other process can reach, and
// lays the copies over the calling process's directory: an overlay file system whose upper layer they are. A
// name at which nothing could be copied is empty in there. Whether a copy is what it ought to be is for
// whoever looks at the view; here only nothing changes any more. Everything else of the workdir is as it is,
// live. Read-only. Nothing where the kernel has no overlay for this user, where the workdir's file system
// cannot be a layer of one or has others mounted in it, and where the copies may take more than half of the
// machine's memory. Nobody who writes to the workdir meanwhile can bring that about: what cannot be copied,
// or not into what the copies may take, is cut off or left out, and so is not what it ought to be. Needs a
// mount namespace of its own and CAP_SYS_ADMIN in it. Owns: the mounts that it returns, which are nowhere in
// the tree yet. Threads: one. Source: the kernel's filesystems/overlayfs; mknod(2) on device 0, 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/room.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {

struct FrozenWorkdir {
  struct Directory {
    std::string name;
    UniqueFd tree;
  };
  UniqueFd tree;
  // To be mounted in it: a layer cannot say that a directory has these entries and no others.
  std::vector<Directory> directories;
};

// `workdir`: the path of this process's directory.
std::optional<FrozenWorkdir> freeze(const std::string& workdir, const FrozenNames& names);

}  // namespace repobridge::platform
