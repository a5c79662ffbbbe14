// The closed room: what a program of a run sees and reaches of the machine, which is its workdir and what
// everybody may read, and no more.
//
// Promise: run_in_room() starts argv in namespaces of its own (users, mounts, processes, IPC and, unless it
// may use the host's, network), behind Landlock rules and a system call filter, without any privilege. Where
// the mounts hold, everything is read-only but the workdir of a program that may write it, and the private
// /tmp, /var/tmp, /run, /dev and home; the hidden places and the credentials are not there. Landlock says
// the same about reading and writing contents, and stays where mounts cannot be had. Where an overlay can be
// had too, the frozen names of a workdir that is not writable are what they are now until the program ends
// (platform/frozen_workdir.h); otherwise they are as live as the rest. What the kernel does not
// give is `missing`, never silently left out, and then nothing is started unless the plan says `best_effort`.
// Parts that are there but fail are errors, best effort or not.
// Owns: what it starts; it all ends with this process. Threads: for a single-threaded program only, once in
// it; it forks, and events come from whichever process knows. Errors, by failed(): what the system answered,
// os_code being exec's where the program could not be started.
// Source: docs/SECURITY.md, "The room"; namespaces(7), mount_setattr(2), landlock(7), seccomp(2).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platform/child_process.h"
#include "platform/result.h"

namespace repobridge::platform {

// The parts, as they are named in `held` and `missing`.
namespace room_part {
inline constexpr const char* kFiles = "files";            // mounts of its own, all of the above
inline constexpr const char* kProcesses = "processes";    // no process of the host can be named or seen
inline constexpr const char* kNetwork = "network";        // none but a loopback of its own
inline constexpr const char* kIpc = "ipc";                // no shared memory, queue or semaphore of the host
inline constexpr const char* kPrivileges = "privileges";  // none, and none to be had
inline constexpr const char* kLandlock = "landlock";      // nothing hidden read, nothing else written
inline constexpr const char* kCalls = "calls";            // no Unix socket, namespace, keyring, io_uring …
}  // namespace room_part

// Of the workdir: relative, without "..", none twice.
struct FrozenNames {
  std::vector<std::string> files;
  std::vector<std::string> directories;  // with all that is in them
  std::vector<std::string> absent;
  // What copies of them may take: more than this was not there when it was last looked at.
  std::uint64_t most_bytes = 0;
  [[nodiscard]] bool none() const { return files.empty() && directories.empty() && absent.empty(); }
};

struct RoomPlan {
  std::string workdir;    // its path, and this process's directory
  bool writable = false;  // the workdir
  bool network = false;   // the host's
  bool private_home = true;
  bool best_effort = false;
  // The first is the user's, to which home_read is relative.
  std::vector<std::string> homes;
  std::vector<std::string> home_read;
  // Files and directories that must not be read, wherever they lie; the workdir is never one of them.
  std::vector<std::string> hidden;
  FrozenNames frozen;
};

struct RoomParts {
  std::vector<std::string> held;
  std::vector<std::string> missing;
};

// What is told meanwhile: its parts, and then that a missing one is required, or an error, or the program's
// start and end. Before the start: the workdir as the program is going to see it, if its names are frozen.
struct RoomEvents {
  std::function<void(const RoomParts& parts)> furnished;
  std::function<void()> refused;
  std::function<bool(int workdir)> frozen;  // false: nothing is started, and nothing more told
  std::function<void(const Error& error)> failed;
  std::function<void()> started;
  std::function<void(const ExitStatus& status)> ended;
};

// Returns when the program and all that it left behind have ended.
void run_in_room(const RoomPlan& plan, const std::vector<std::string>& argv, const RoomEvents& events);

}  // namespace repobridge::platform
