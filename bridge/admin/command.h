// One subcommand of `repobridge`: its options, and what runs when it is chosen.
//
// Promise: run() does the whole work and returns what belongs on stdout. A refusal is an Error: one line on
// stderr and exit code 2 (1 for a fault of the host or of ours). Only what asks a question writes before it
// returns.
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

struct Answer {
  Answer(std::string words = {}, int code = 0)  // NOLINT(google-explicit-constructor): is one
      : text(std::move(words)), exit_code(code) {}
  std::string text;
  int exit_code;
};

using Run = std::function<Result<Answer>(const Console&)>;

struct Command {
  std::string_view name;
  std::string_view summary;
  // Adds the options to the subcommand's own App; the Run reads them after the command line was parsed.
  Run (*attach)(CLI::App& app);
};

extern const Command kInit;
extern const Command kRender;
extern const Command kPin;
extern const Command kLease;
extern const Command kRuns;
extern const Command kDoctor;

}  // namespace repobridge::admin
