// Portable POSIX has no room: everything is missing, and a program that may do without is started as it is.
#include <unistd.h>

#include <cerrno>

#include "platform/room.h"

namespace repobridge::platform {

void run_in_room(const RoomPlan& plan, const std::vector<std::string>& argv, const RoomEvents& events) {
  RoomParts parts;
  parts.missing = {room_part::kFiles, room_part::kProcesses};
  if (!plan.network) parts.missing.emplace_back(room_part::kNetwork);
  for (const char* part :
       {room_part::kIpc, room_part::kPrivileges, room_part::kLandlock, room_part::kCalls}) {
    parts.missing.emplace_back(part);
  }
  events.furnished(parts);
  if (!plan.best_effort) return events.refused();
  std::vector<char*> pointers;
  for (const auto& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  pointers.push_back(nullptr);
  events.started();
  (void)::execv(pointers.front(), pointers.data());
  events.failed(os_error("start the program", errno));
}

}  // namespace repobridge::platform
