// Is the git directory what it seems? Links, FIFOs and foreign owners inside .git turn git's own writes into
// writes elsewhere, and its reads into waits; so the places that we or libgit2 touch are looked at first.
//
// Promise: after audit_layout() the named places were real directories or regular files of this user. What
// happens to them afterwards is for the sandbox to bound.
// Errors: REPO_UNSAFE_LAYOUT (details.place: the name within .git), REPO_ALTERNATES, REPO_OWNERSHIP.
// Source: docs/SECURITY.md; openat2(2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/result.h"

namespace repobridge::git {

enum class Place : std::uint8_t { file, directory };

// Every component on the way to `name` must be a real directory, and the last one, where there is one, of the
// given kind.
Result<void> check_place(int git_directory, const std::string& name, Place place);

// `branches`: full reference names that will be read or written, with their logs.
Result<void> audit_layout(int git_directory, const std::vector<std::string>& references);

}  // namespace repobridge::git
