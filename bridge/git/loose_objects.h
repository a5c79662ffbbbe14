// Reads the repository's loose objects in place of libgit2 1.5, which inflates a truncated one for ever and
// writes past its buffer when one holds more than its header says.
//
// Promise: read_loose_objects() puts this before libgit2's own reading; writing stays libgit2's. An object is
// read through a descriptor, beneath `objects` and through no link; it must be one zlib stream of exactly the
// size that it says. libgit2 compares the bytes with the object's id afterwards. Packs are still libgit2's to
// read. Errors: by libgit2's ways, last_error_says(kDamagedObject); git_failure() makes them
// REPO_OBJECT_DAMAGED. Threads: the repository's one. Source: gitformat-loose(5) of newer git;
// git2/sys/odb_backend.h.
#pragma once

#include <string_view>

#include "bridge/git/git2.h"

namespace repobridge::git {

inline constexpr std::string_view kDamagedObject = "damaged loose object";

// `objects`: a descriptor of the repository's own directory, which must outlive `repository`.
Result<void> read_loose_objects(git_repository* repository, int objects);

// What an object file holds. For tests and the fuzzer too.
struct LooseObject {
  git_object_t type = GIT_OBJECT_INVALID;
  std::uint64_t size_bytes = 0;
  std::string content;
};
// FILE_TOO_LARGE for more than `max_bytes`; OBJECT_DAMAGED.
Result<LooseObject> parse_loose_object(std::string_view file, std::uint64_t max_bytes);

}  // namespace repobridge::git
