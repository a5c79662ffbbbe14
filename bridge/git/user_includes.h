// The git configuration of the bridge's user and of the machine, with everything that it includes: theirs is
// trusted, and followed. libgit2 1.5 does not know every condition of an include, and git on a transport
// repository does not see where the workdir is; so the including is done here.
//
// Promise: read as git reads it for the repository of a Situation: include, includeIf gitdir, gitdir/i,
// onbranch and hasconfig:remote.*.url; other conditions hold nowhere, as in git. `~name/` and `%(prefix)/`
// are not understood and refused. Errors: GIT_USER_CONFIG_INVALID, also where git would stop: a file that
// cannot be read, includes nested deeper than ten. Source: git-config(1), "Includes".
#pragma once

#include <string>
#include <vector>

#include "bridge/git/local_config.h"
#include "platform/result.h"

namespace repobridge::git {

// What conditions of includes look at.
struct Situation {
  std::string git_directory;             // absolute, without links
  std::string branch;                    // short name, "" for none
  std::vector<std::string> remote_urls;  // as configured
};

// Where such configuration begins.
struct UserConfigPlaces {
  std::string home;
  std::vector<std::string> files;  // the last one wins; those that are not there count as empty
  // As git finds them for this process: the machine's, XDG's and the home directory's.
  static UserConfigPlaces of_environment();
};

struct UserEntries {
  std::vector<ConfigEntry> entries;  // in git's order, the includes in the place of what included them
  std::vector<std::string> files;    // that were looked for
};
Result<UserEntries> read_user_entries(const UserConfigPlaces& places, const Situation& here);

// The files that conditions include `here` and would not include `there`: what git, standing there, must be
// told to include to work as it would here. Absolute paths, in git's order.
Result<std::vector<std::string>> includes_only_here(const UserConfigPlaces& places, const Situation& here,
                                                    const Situation& there);

// The error when the user's git configuration cannot be used.
Failure user_config_invalid();

}  // namespace repobridge::git
