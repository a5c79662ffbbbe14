// The digests of the files that an action pins, as they are now.
//
// Promise: each file is opened beneath the workdir's root without meeting a link, is regular, and is hashed
// from the descriptor it was opened by. Errors: PATH_NOT_FOUND, REPO_PATH_BEYOND_LINK,
// REPO_PATH_UNSUPPORTED_TYPE, REPO_PATH_TOO_LARGE, each with details.path.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "platform/result.h"
#include "policy/repo_path.h"

namespace repobridge::admin {

inline constexpr std::size_t kMaxPinnedFileBytes = std::size_t{2} << 30U;

using Pins = std::map<policy::RepoPath, std::string>;

// `pinned` names the files; the digests it holds are not looked at.
Result<Pins> digests_now(int root, const Pins& pinned);

}  // namespace repobridge::admin
