// Who is alive in a process group: the portable process tree asks, since kill(2) also finds zombies, and
// those stay for as long as whoever inherits them likes.
//
// Promise: an answer of the moment. Errors: what the system answered. Source: proc(5).
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "platform/result.h"

namespace repobridge::platform {

// Members of the group that have not ended.
Result<std::size_t> alive_in_group(pid_t group);

}  // namespace repobridge::platform
