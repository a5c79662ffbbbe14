// Telling whoever started the bridge that it is ready: a line on a descriptor, and systemd's protocol.
// Source: sd_notify(3).
#pragma once

namespace repobridge::bridge {

// `ready_fd`: -1 for none. It is closed afterwards.
void tell_ready(int ready_fd);

}  // namespace repobridge::bridge
