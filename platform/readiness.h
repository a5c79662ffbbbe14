// Telling whoever started a program of ours that it is ready: a line on a descriptor, and systemd's protocol.
// Source: sd_notify(3).
#pragma once

#include <string_view>

namespace repobridge::platform {

// Writes "ready", with `details` behind it, if any. `ready_fd`: -1 for none; it is closed afterwards.
void tell_ready(int ready_fd, std::string_view details = {});

}  // namespace repobridge::platform
