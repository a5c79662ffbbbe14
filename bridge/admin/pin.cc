#include "bridge/admin/pin.h"

#include <CLI/CLI.hpp>

namespace repobridge::admin {
namespace {

Run attach(CLI::App& app) {
  app.require_subcommand(1);
  const auto show = add_pin_show(app);
  const auto check = add_pin_check(app);
  return [show, check](const Console& console) {
    return show.app->parsed() ? show.run(console) : check.run(console);
  };
}

}  // namespace

const Command kPin{.name = "pin", .summary = "Look at the files that actions pin", .attach = attach};

}  // namespace repobridge::admin
