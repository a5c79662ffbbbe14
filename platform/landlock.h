// The kernel's Landlock: rights over files, networks and signals that a process gives up for itself and for
// everything it starts, but for what is granted by descriptor.
//
// Promise: only what the running kernel's version knows is asked of it; what it does not know is left out, so
// look at version() where that matters. Owns: Ruleset owns its descriptor. Threads: any; restrict_self() is
// about the calling one and safe between fork and exec. Errors: what the kernel answered.
// Source: landlock(7).
#pragma once

#include <linux/landlock.h>

#include <cstdint>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::platform::landlock {

// Rights that came after the headers of Debian 12.
inline constexpr std::uint64_t kTruncate = 1ULL << 14U;
inline constexpr std::uint64_t kIoctlDevice = 1ULL << 15U;
inline constexpr std::uint64_t kNetBindTcp = 1ULL << 0U;
inline constexpr std::uint64_t kNetConnectTcp = 1ULL << 1U;
inline constexpr std::uint64_t kScopeAbstractSockets = 1ULL << 0U;
inline constexpr std::uint64_t kScopeSignals = 1ULL << 1U;

// The versions at which it learned each thing.
inline constexpr int kVersionOfRefer = 2;  // before, no file may change its directory, whatever is granted
inline constexpr int kVersionOfTruncate = 3;
inline constexpr int kVersionOfNetwork = 4;
inline constexpr int kVersionOfIoctl = 5;
inline constexpr int kVersionOfScopes = 6;

// 0: the kernel has none, and errno says what it answered.
int version();

// Every right over files that a version knows.
std::uint64_t known_file_rights(int version);

// What is given up.
struct Handled {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};

class Ruleset {
 public:
  static Result<Ruleset> make(int version, const Handled& handled);
  // The file, or the directory and everything below it. Rights that were not given up mean nothing here.
  [[nodiscard]] Result<void> grant(int descriptor, std::uint64_t rights) const;
  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  Ruleset(UniqueFd fd, std::uint64_t files) : fd_(std::move(fd)), files_(files) {}
  UniqueFd fd_;
  std::uint64_t files_;
};

// For ever. Needs "no new privileges". errno says why not.
bool restrict_self(int ruleset);

}  // namespace repobridge::platform::landlock
