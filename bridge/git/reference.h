// The worker's part in the move of a reference: whether it is possible, and the line in the log. The move
// itself is the bridge's, under git's lock (bridge/git/repository_guard.h).
//
// Errors: REPO_UNSUPPORTED_LAYOUT, when another reference's name is in the way.
// Source: gitrepository-layout(5), "logs"; git-config(1), core.logAllRefUpdates.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bridge/git/repository.h"

namespace repobridge::git {

struct Move {
  std::string reference;
  std::optional<git_oid> from;
  git_oid to{};
};

// "a" and "a/b" cannot both be references. Only a new one needs asking.
Result<void> check_name_free(const Repository& repository, const std::string& reference);

// Appends to the log of `log_of` (the moved reference, or HEAD that points to it) where git would keep one.
// Written before the move, as git does: a log that knows too much loses nothing.
Result<void> log_move(const Repository& repository, const std::string& log_of, const Move& move,
                      const git_signature& who, std::string_view message);

}  // namespace repobridge::git
