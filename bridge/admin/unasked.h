// What an action's programs read of the workdir though nobody named it, and the pins that would settle it:
// advice for the administrator, never a refusal.
//
// Promise: every reader stands once, with the pins that are missing as things are now ("absent" where nothing
// is there), and with the names that cannot be pinned as they are. It knows what policy/tools.h knows, the
// files that makefiles include, directories that argv names, and names within code that argv holds; no more.
// Blocks while it hashes. Errors: none; what cannot be looked at is passed over.
#pragma once

#include <string>
#include <vector>

#include "bridge/admin/argv.h"
#include "policy/actions.h"

namespace repobridge::admin {

struct Unpinned {
  std::string reader;  // a tool's name, or the element of argv: "argv[2]"
  policy::Pins pins;   // to be added
  std::vector<std::string> not_pinnable;
};

std::vector<Unpinned> unpinned_reads(const policy::Action& action, const ProgramSearch& search);

}  // namespace repobridge::admin
