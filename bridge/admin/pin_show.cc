// repobridge pin show: the digests to paste into an action's integrity map.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "bridge/actions/pins.h"
#include "bridge/admin/env_source.h"
#include "bridge/admin/pin.h"
#include "bridge/admin/roots.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

struct Options {
  std::string alias;
  std::string action;
  std::string env_file;
  bool json = false;
};

template <class Range, class Name>
std::string listed(const Range& range, Name name) {
  std::string text;
  for (const auto& item : range) text += (text.empty() ? "" : ", ") + std::string(name(item));
  return text.empty() ? "none" : text;
}

Result<policy::WorkdirSettings> find_workdir(const policy::Settings& settings, const std::string& alias) {
  const auto found = std::ranges::find(settings.workdirs, alias, &policy::WorkdirSettings::alias);
  if (found != settings.workdirs.end()) return *found;
  return policy::refuse(policy::codes::kWorkdirNotFound,
                        "no workdir of the env file has that alias; it has: " +
                            listed(settings.workdirs, [](const auto& workdir) { return workdir.alias; }));
}

Result<policy::Action> find_action(const policy::WorkdirSettings& workdir, const std::string& name) {
  RB_TRY(const auto actions, read_actions(workdir, policy::Digests::placeholders_allowed));
  const auto found = actions.find(name);
  if (found != actions.end()) return found->second;
  return policy::refuse(policy::codes::kActionNotFound,
                        "no action of the workdir has that name; it has: " +
                            listed(actions, [](const auto& action) { return action.first; }));
}

// As they are now; what the pins hold so far is not looked at.
Result<policy::Pins> pins_now(int root, const policy::Pins& pinned) {
  policy::Pins now;
  for (const auto& [path, pin] : pinned) {
    RB_TRY(auto look, actions::look_at(root, path, pin.kind));
    now.emplace(path, std::move(look.now));
  }
  return now;
}

// ASCII only, so that what a terminal shows is what is pasted.
std::string as_json(const policy::Pins& pins) { return to_json(pins).dump(-1, ' ', true) + "\n"; }

std::string as_lines(const policy::Pins& pins) {
  std::string text;
  for (const auto& [path, pin] : pins) {
    text += policy::pin_value(pin) + "  " + shown(policy::pin_name(path, pin.kind)) + "\n";
  }
  return text;
}

std::string as_table(const policy::Pins& now, const policy::Pins& pinned, const Stream& stream) {
  std::vector<std::vector<std::string>> rows{{"FILE", "SHA-256 NOW", "IN THE ENV FILE"}};
  for (const auto& [path, pin] : now) {
    const auto& old = pinned.at(path);
    const bool pasted = old.kind == policy::PinKind::absent || policy::is_sha256_hex(old.digest);
    const char* state = old == pin ? "the same" : pasted ? "another" : "to be pasted";
    rows.push_back({shown(policy::pin_name(path, pin.kind)), policy::pin_value(pin), state});
  }
  return table(rows, stream) + "\n\"integrity\": " + as_json(now);
}

Result<std::string> show(const Options& options, const Console& console) {
  std::string env_file = options.env_file;
  if (env_file.empty()) {
    RB_TRY(env_file, default_env_file());
  }
  RB_TRY(const auto settings, read_env_source(env_file));
  RB_TRY(const auto workdir, find_workdir(settings, options.alias));
  RB_TRY(const auto action, find_action(workdir, options.action));
  RB_TRY(const auto root, root_of(workdir));
  RB_TRY(const auto directory, platform::open_directory(root.path));
  RB_TRY(const auto now, pins_now(directory.get(), action.integrity));
  if (options.json) return as_json(now);
  return console.out.terminal ? as_table(now, action.integrity, console.out) : as_lines(now);
}

}  // namespace

Subcommand add_pin_show(CLI::App& pin) {
  const auto options = std::make_shared<Options>();  // shared: the parser writes it, the Run reads it later
  auto* command =
      pin.add_subcommand("show", "Print what an action's integrity map names as it is now, to be pasted");
  command->add_option("ALIAS", options->alias, "The workdir")->required();
  command->add_option("ACTION", options->action, "The action")->required();
  command->add_option("--env-file", options->env_file,
                      "The env file (default: repobridge/repobridge.env in the user's configuration)");
  command->add_flag("--json", options->json, "The map as JSON, to paste");
  return {.app = command, .run = [options](const Console& console) { return show(*options, console); }};
}

}  // namespace repobridge::admin
