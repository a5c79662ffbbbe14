// Pinned files: are the bytes that an approved action reads still those that the administrator reviewed?
//
// Promise: each name is reached component by component beneath the root without following a link, and hashed
// from the descriptor that was reached. A trace holds what was looked at on the way, so that a second look
// tells a change in between, also one that was undone: detected, not prevented (trace.h says how far).
// Errors: REPO_PIN_MISMATCH with details.paths: the first hundred names that drifted, and details.more: how
// many others. Of a pinned directory it is the directory, but for an entry that no manifest can hold.
// Threads: any; blocks for as long as reading takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bridge/actions/manifest.h"
#include "platform/result.h"
#include "policy/actions.h"

namespace repobridge::actions {

struct Traced {
  std::string text;
  std::uint64_t bytes_of_copies = 0;
  friend bool operator==(const Traced&, const Traced&) = default;
};

struct Look {
  policy::Pin now;
  Traced trace;
};

// What is there now, as a pin of that kind. `parent_too`: the trace of an absent name has its directory as
// well, where it would come and go. Errors, each with details.path: PATH_NOT_FOUND, REPO_PATH_BEYOND_LINK,
// REPO_PATH_UNSUPPORTED_TYPE, REPO_PATH_TOO_LARGE, REPO_PATH_CHANGED, DENIED_PATH (a repository in a pinned
// directory), REPO_PIN_MISMATCH (something is there that is pinned as absent).
enum class AbsentTrace : std::uint8_t { way_only, parent_too };
Result<Look> look_at(int root, const policy::RepoPath& path, policy::PinKind kind,
                     AbsentTrace absent = AbsentTrace::way_only);

using Traces = std::map<policy::RepoPath, Traced>;

// What copies of all that was looked at take of memory, at most.
std::uint64_t bytes_of_copies(const Traces& traces);

Result<Traces> verify_pins(int root, const policy::Action& action);

// Of a second look, after the action has ended.
Result<void> check_unchanged(const policy::Action& action, const Traces& before, const Result<Traces>& after);

}  // namespace repobridge::actions
