// The system calls that a program in a closed room may not make (platform/room.h).
//
// Promise: all others stay. Refused are Unix sockets but for pairs that are connected for good, and every
// family of sockets but IPv4, IPv6 and netlink; to set a file's setuid or setgid bit; namespaces, mounts,
// keyrings, io_uring, bpf, performance events and userfaultfd; and the calls of other kinds of machine.
// clone3 and openat2, whose flags no filter can see, are ENOSYS, so that libraries take clone and openat.
// Threads: for the calling one, for ever. Needs "no new privileges". Errors: what the kernel answered.
// Source: seccomp(2).
#pragma once

#include "platform/result.h"

namespace repobridge::platform {

Result<void> refuse_calls();
// Whether this kernel filters calls at all.
bool can_refuse_calls();

}  // namespace repobridge::platform
