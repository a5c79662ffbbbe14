// A workdir of the configuration as `repobridge lease` deals with it: its directory, its lock, and who has
// it.
//
// Promise: a refusal says what the administrator can do. Owns: the directory's descriptor.
// Errors: WORKDIR_NOT_FOUND, WORKDIR_UNAVAILABLE, WORKDIR_BUSY; those of reading the configuration.
#pragma once

#include <string>

#include "bridge/runs/lease.h"
#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::admin {

// With its directory open.
struct WorkdirPlace {
  std::string alias;
  std::string path;
  std::string state_dir;
  platform::UniqueFd root;
  runs::LeasePlace lease;
};

// `config`: bridge.json, or "" for the one in the user's configuration. The directory of the locks is made
// when it is missing.
Result<WorkdirPlace> find_workdir(const std::string& alias, const std::string& config);

// A writer in words.
std::string described(const runs::Holder& holder);

// Why the lock could not be taken, for somebody who can look after it.
Failure lock_refused(const WorkdirPlace& place, const Error& error);

}  // namespace repobridge::admin
