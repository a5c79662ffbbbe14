// Packets of a SOCK_SEQPACKET socket, each with at most one descriptor beside its text.
//
// Promise: sending never blocks for long nor raises SIGPIPE; receiving never blocks, drops what is longer
// than the buffer, and lets no descriptor slip into a program that is started meanwhile. Owns: what is
// received. Threads: any. Errors: as send(2) and recv(2): -1 and errno. Source: unix(7), SCM_RIGHTS.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

#include "platform/unique_fd.h"

namespace repobridge::platform {

// The descriptor stays the caller's; -1 for none.
ssize_t send_packet(int socket, std::string_view text, int descriptor = -1);

// How many bytes there were; 0 when the other end is closed.
ssize_t receive_packet(int socket, std::span<char> text, UniqueFd& descriptor);

}  // namespace repobridge::platform
