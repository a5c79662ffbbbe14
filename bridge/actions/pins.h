// Pinned files: are the bytes that an approved action reads still those that the administrator reviewed?
//
// Promise: each is opened beneath the root without following a link, must be a regular file, and is hashed
// from that descriptor. `seen` remembers what was hashed, so that a second look tells a change in between.
// Errors: REPO_PIN_MISMATCH with details.paths: the drifted, missing or unreadable files.
// Threads: any; blocks for as long as reading takes.
#pragma once

#include <map>
#include <string>

#include "platform/files.h"
#include "platform/result.h"
#include "policy/actions.h"

namespace repobridge::actions {

inline constexpr std::size_t kMaxPinnedBytes = std::size_t{2} << 30U;

using PinsSeen = std::map<policy::RepoPath, platform::FileFacts>;

Result<PinsSeen> verify_pins(int root, const std::map<policy::RepoPath, std::string>& pins);

}  // namespace repobridge::actions
