// repobridge pin: its subcommands, each in a file of its own.
#pragma once

#include "bridge/admin/command.h"

namespace repobridge::admin {

struct Subcommand {
  CLI::App* app = nullptr;  // CLI11's
  Run run;
};

Subcommand add_pin_show(CLI::App& pin);
Subcommand add_pin_check(CLI::App& pin);

}  // namespace repobridge::admin
