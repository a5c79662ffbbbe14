// repobridge: the administrator's command.
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <sstream>

#include "bridge/admin/command.h"

namespace repobridge::admin {
namespace {

constexpr int kRefused = 2;
constexpr int kFault = 1;

constexpr std::array kCommands = {&kInit, &kRender, &kPin, &kLease, &kRuns, &kDoctor};

int parse_and_run(int argc, char** argv, const Console& console) {
  CLI::App app("Sets up and looks after Repobridge on this host.", "repobridge");
  app.set_version_flag("--version", REPOBRIDGE_VERSION);
  app.require_subcommand(1);
  std::array<Run, kCommands.size()> runs;
  std::array<CLI::App*, kCommands.size()> subcommands{};
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    const Command& command = *kCommands[i];
    subcommands[i] = app.add_subcommand(std::string(command.name), std::string(command.summary));
    runs[i] = command.attach(*subcommands[i]);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, std::cout, std::cerr) == 0 ? 0 : kRefused;
  }
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    if (!subcommands[i]->parsed()) continue;
    const auto done = runs[i](console).and_then(
        [](const Answer& answer) { return write_out(answer.text).map([&] { return answer.exit_code; }); });
    if (done) return *done;
    const std::string name = "repobridge " + std::string(kCommands[i]->name);
    write_err(refusal_line(console.err, name, done.error()));
    return done.error().kind == Kind::internal ? kFault : kRefused;
  }
  return kRefused;
}

}  // namespace
}  // namespace repobridge::admin

int main(int argc, char** argv) {
  try {
    return repobridge::admin::parse_and_run(argc, argv, repobridge::admin::Console::of_this_process());
  } catch (...) {
    repobridge::admin::write_err("repobridge: out of memory or a fault in a library\n");
    return 1;
  }
}
