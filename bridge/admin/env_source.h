// The administrator's env file as it stands on this host, and the action definitions that it holds or names.
//
// Promise: nothing is taken from a file that another user could have written or replaced.
// Errors: CONFIG_UNREADABLE, CONFIG_INVALID, naming the variable or option.
#pragma once

#include <string>

#include "platform/result.h"
#include "policy/actions.h"
#include "policy/settings.h"

namespace repobridge::admin {

Result<policy::Settings> read_env_source(const std::string& path);

// Where `pin show` looks when no file is named: $XDG_CONFIG_HOME or ~/.config, repobridge/repobridge.env.
Result<std::string> default_env_file();

// Where `render` puts what that file means, and where the commands look for it; `named`, when it is not
// empty.
Result<std::string> bridge_config(const std::string& named);

// Empty when the workdir defines none.
Result<policy::Actions> read_actions(const policy::WorkdirSettings& workdir, policy::Digests digests);

// The variable that errors about the workdir's actions name.
std::string actions_variable(const policy::WorkdirSettings& workdir);

}  // namespace repobridge::admin
