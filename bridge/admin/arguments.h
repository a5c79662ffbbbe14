// The elements of an action's argv behind the program, looked at when rendering: which of them name files of
// a workdir, and which of them are executed.
//
// Promise: an element that names a file of the workdir, or is a script or program there, is pinned; none
// passes a link of a workdir or names a file of another one; and where the caller adds a path, it is no file
// that an interpreter would execute. What stands inside a piece of code is not looked into. Errors:
// CONFIG_INVALID, naming the variable, the JSON path and the pin to add.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bridge/admin/argv.h"
#include "platform/result.h"
#include "policy/actions.h"

namespace repobridge::admin {

Result<void> check_arguments(const policy::Action& action, const ProgramSearch& search);

// What a text names in the action's own workdir, whether it is written relative to the top or absolute.
struct Named {
  policy::RepoPath path;
  bool directory = false;
  bool through_link = false;  // it is a link, or a link of the workdir leads to it
};
// nullopt: nothing that is there.
std::optional<Named> named_in(const Root& root, std::string_view text);

// A pin of what is there now, as it stands in `integrity`: "check.py": "<digest>". nullopt: it cannot be
// pinned.
std::optional<policy::Pin> pin_now(int root, const policy::RepoPath& path, policy::PinKind kind);

}  // namespace repobridge::admin
