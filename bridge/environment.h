// What a child may see of the bridge's environment: an allow-list, never the whole of it.
//
// Promise: nothing that is not named here reaches a child. PATH is reduced to absolute directories that no
// one but root or this user may write. Source: docs/SECURITY.md, "Children".
#pragma once

#include <string>
#include <vector>

#include "platform/result.h"
#include "policy/actions.h"
#include "policy/secrets.h"

namespace repobridge::bridge {

// For the git worker: where the user's git configuration is, and no more.
std::vector<std::string> git_worker_environment();
// For an approved action, with what it adds. Errors: REPO_ACTION_ENVIRONMENT (details.names) where a value
// holds one of the bridge's own secrets, or what is handed on is too large to start a program with.
Result<std::vector<std::string>> action_environment(const policy::Action& action,
                                                    const policy::Redactor& secrets);
// For git push: the user's credentials at hand, and nobody who could be asked for one.
// `protocol`: the one that git may speak. `directory`: where it may not look above.
std::vector<std::string> push_environment(std::string_view protocol, const std::string& directory);

// The absolute, safe entries of a PATH.
std::string safe_path(std::string_view path);

}  // namespace repobridge::bridge
