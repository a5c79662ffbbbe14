// View status: where HEAD stands, what it follows, and every path that differs, as an exact scan found them.
//
// Promise: reads only; no lock is taken and the index on disk is not touched. Untracked files come one by
// one. Paths that the rules hide are counted and not named, and a rename with either side hidden is hidden.
// Ahead and behind are as of the last fetch: nothing here asks a remote.
// Source: git-status(1); docs/PROTOCOL.md section 5.
#pragma once

#include <cstddef>

#include "bridge/git/repository.h"
#include "policy/json.h"
#include "policy/path_rules.h"

namespace repobridge::git {

Result<policy::Json> status(const Repository& repository, const policy::PathRules& rules,
                            std::size_t max_entries);

// {"branch", "oid", "unborn"}
policy::Json head_json(const Head& head);

}  // namespace repobridge::git
