// repobridge render: the env file becomes bridge.json and front.json.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "bridge/admin/command.h"
#include "bridge/admin/env_source.h"
#include "bridge/admin/rendering.h"
#include "platform/user.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;

struct Options {
  std::string env_file;
  std::string out;
};

Result<std::string> existing_directory(const std::string& path) {
  auto resolved = platform::canonical_path(path);
  const auto facts = platform::facts_of_path(path + "/.");
  if (resolved && facts && *facts) return resolved;
  return policy::refuse_variable("--out", "is not an existing directory; `repobridge init --dir` makes one");
}

Result<platform::StagedFile> stage(const std::string& directory, const std::string& name,
                                   const std::string& text) {
  auto staged = platform::StagedFile::stage(directory + "/" + name, text, kPrivate);
  if (staged || staged.error().code != "TARGET_UNSAFE") return staged;
  return policy::refuse(policy::codes::kConfigTargetUnsafe,
                        name + " in --out is left as it is: " + staged.error().message);
}

// Both files or neither: nothing that can be refused happens between the first rename and the second.
Result<void> publish(const std::string& directory, const Rendering& rendering) {
  RB_TRY(auto bridge, stage(directory, "bridge.json", rendering.bridge_json));
  RB_TRY(auto front, stage(directory, "front.json", rendering.front_json));
  RB_CHECK(bridge.replace());
  return front.replace();
}

policy::Json summary_of(const policy::Workdir& workdir) {
  policy::Json actions = policy::Json::array();
  for (const auto& [name, action] : workdir.actions) {
    actions.push_back(
        {{"name", name}, {"argv_count", action.argv.size()}, {"pins_count", action.integrity.size()}});
  }
  return {{"alias", workdir.alias}, {"read_only", workdir.read_only}, {"actions", std::move(actions)}};
}

policy::Json warning_json(const RenderWarning& warning) {
  policy::Json json{{"workdir", warning.workdir},
                    {"action", warning.action},
                    {"reader", warning.unpinned.reader},
                    {"pins", to_json(warning.unpinned.pins)}};
  if (!warning.unpinned.not_pinnable.empty()) json["not_pinnable"] = warning.unpinned.not_pinnable;
  return json;
}

// ASCII only, so that what a terminal shows is what is pasted.
std::string warning_line(const RenderWarning& warning, const Console& console) {
  const auto& unpinned = warning.unpinned;
  std::string line = bold(console.err, "repobridge render") + ": action '" + warning.action + "' of '" +
                     warning.workdir + "': " + shown(unpinned.reader) +
                     " reads what 'integrity' does not pin";
  if (!unpinned.pins.empty())
    line += "; to pin it as it is now, add " + to_json(unpinned.pins).dump(-1, ' ', true);
  for (const auto& name : unpinned.not_pinnable) line += "; '" + shown(name) + "' cannot be pinned as it is";
  return line + "\n";
}

std::string summary(const std::string& directory, const Rendering& rendering) {
  policy::Json workdirs = policy::Json::array();
  for (const auto& [alias, workdir] : rendering.bridge.workdirs) workdirs.push_back(summary_of(workdir));
  policy::Json warnings = policy::Json::array();
  for (const auto& warning : rendering.warnings) warnings.push_back(warning_json(warning));
  return policy::dump_json({{"bridge", directory + "/bridge.json"},
                            {"front", directory + "/front.json"},
                            {"digest", rendering.bridge.digest},
                            {"workdirs", std::move(workdirs)},
                            {"switched_off", rendering.switched_off},
                            {"warnings", std::move(warnings)}}) +
         "\n";
}

Result<std::string> render(const Options& options, const Console& console) {
  RB_TRY(const auto out, existing_directory(options.out));
  RB_TRY(auto settings, read_env_source(options.env_file));
  RB_TRY(const auto user, platform::current_user());
  const char* search_path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  RB_TRY(const auto rendering, make_rendering({.settings = std::move(settings),
                                               .env_file = options.env_file,
                                               .out = out,
                                               .home = user.home,
                                               .search_path = search_path == nullptr ? "" : search_path}));
  RB_CHECK(publish(out, rendering));
  for (const auto& warning : rendering.warnings) write_err(warning_line(warning, console));
  if (rendering.bridge.workdirs.empty()) {
    write_err(bold(console.err, "repobridge render") +
              ": no workdir has REPO_OPS_ENABLED=true, so callers will see no tools\n");
  }
  return summary(out, rendering);
}

Run attach(CLI::App& app) {
  const auto options = std::make_shared<Options>();  // shared: the parser writes it, the Run reads it later
  app.add_option("--env-file", options->env_file, "The file that `repobridge init` made")->required();
  app.add_option("--out", options->out, "The directory for bridge.json and front.json")->required();
  return [options](const Console& console) { return render(*options, console); };
}

}  // namespace

const Command kRender{
    .name = "render", .summary = "Turn the env file into bridge.json and front.json", .attach = attach};

}  // namespace repobridge::admin
