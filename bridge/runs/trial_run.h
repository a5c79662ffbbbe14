// A run of nothing, to see what would hold a real one from here: for the administrator.
//
// Promise: starts the supervisor with `program` under it, in a room with best effort whose workdir is the
// program's directory and that is to freeze a name of it, by itself and without a lease, and waits for its
// end. Errors: what the system answered; ETIMEDOUT and EPROTO in os_code when the supervisor did not answer
// as it should. Threads: any; blocks for some milliseconds. Source: bridge/runs/supervisor_protocol.h.
#pragma once

#include <string>

#include "platform/containment.h"
#include "platform/result.h"
#include "platform/room.h"

namespace repobridge::runs {

struct Trial {
  platform::Containment held;
  platform::RoomParts room;
  bool frozen = false;
};

// `helpers`: the directory of repobridge-run and repobridge-room. `program`: an absolute path; it ends by
// itself when it is called with --version. `control_group`: as the supervisor takes it, "" for none.
Result<Trial> trial_run(const std::string& helpers, const std::string& program,
                        const std::string& control_group);

}  // namespace repobridge::runs
