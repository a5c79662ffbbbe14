// What a git worker may still do once it knows its repository: three kinds of work, three sets of rights.
//
// Promise: after confine() the worker reads the work tree, .git and the files that the user's git
// configuration names, and writes nothing (look), or only where objects and logs stand and in one scratch
// directory (commit), or only where the logs of tracking branches stand (track). It never writes HEAD, a
// reference, the index, configuration, hooks or the work tree. Rights hang on the descriptors that were
// audited, not on names. Errors: REPO_SANDBOX_UNAVAILABLE. Source: platform/sandbox.h; docs/SECURITY.md.
#pragma once

#include <string>

#include "bridge/git/repository.h"
#include "bridge/git/user_config.h"
#include "bridge/git/written_directories.h"

namespace repobridge::git {

// `scratch`: name of the scratch directory below .git, for a commit.
Result<void> confine(const Repository& repository, const UserConfig& user, Power power,
                     const std::string& scratch);

}  // namespace repobridge::git
