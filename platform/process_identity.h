// Which life of the machine and which process is meant: process ids are reused, so a record that outlives us
// names the boot and the start time beside the id. Source: proc(5), /proc/sys/kernel/random/boot_id.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "platform/result.h"

namespace repobridge::platform {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t started = 0;  // clock ticks since boot
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

Result<std::string> boot_id();
Result<ProcessIdentity> identity_of(pid_t pid);

// False only on proof that this very process is gone or a zombie; a doubt counts as alive.
bool may_be_alive(const ProcessIdentity& process);

}  // namespace repobridge::platform
