// One subcommand of `repobridge`: its options, and what runs when it is chosen.
//
// Promise: run() does the whole work and returns what belongs on stdout. A refusal is an Error: one line on
// stderr and exit code 2 (1 for a fault of the host or of ours).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "bridge/admin/console.h"
#include "platform/result.h"

namespace CLI {
class App;
}

namespace repobridge::admin {

using Run = std::function<Result<std::string>(const Console&)>;

struct Command {
  std::string_view name;
  std::string_view summary;
  // Adds the options to the subcommand's own App; the Run reads them after the command line was parsed.
  Run (*attach)(CLI::App& app);
};

extern const Command kInit;
extern const Command kRender;
extern const Command kPin;

}  // namespace repobridge::admin
