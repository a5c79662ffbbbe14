// repobridge init: the directory, the env file to fill in, the key and a token for a caller over HTTP.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "bridge/admin/command.h"
#include "bridge/admin/example_env.h"
#include "bridge/wire/key.h"
#include "bridge/wire/token.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

Failure refuse_dir(const std::string& problem) {
  return policy::refuse(policy::codes::kConfigTargetUnsafe, "--dir " + problem);
}

Result<void> check_new(const std::string& directory, const std::string& name) {
  RB_TRY(const auto facts, platform::facts_of_path(directory + "/" + name));
  if (facts) return refuse_dir("already holds " + name + "; nothing was changed");
  return {};
}

Result<void> create_all(const std::string& directory) {
  const std::string key = directory + "/bridge.key";
  const std::string token = directory + "/front.token";
  RB_CHECK(wire::create_key(key));
  auto written = wire::create_token(token);
  if (written) written = platform::create_file(directory + "/repobridge.env", kExampleEnv, S_IRUSR | S_IWUSR);
  if (written) return {};
  // Half an init would refuse the next one.
  (void)::unlink(key.c_str());
  (void)::unlink(token.c_str());
  return written;
}

std::string next_steps(const std::string& directory, const Stream& stream) {
  const std::string dir = shown(directory);
  return "made repobridge.env, bridge.key and front.token in " + dir + "\n\n" + bold(stream, "next") +
         "\n  1. set WORKDIR_01_ALIAS and WORKDIR_01_PATH in " + dir + "/repobridge.env" +
         "\n  2. repobridge render --env-file " + dir + "/repobridge.env --out " + dir +
         "\n  3. repobridged --config " + dir + "/bridge.json" +
         "\n  4. let the MCP client start: repobridge-mcp --config " + dir + "/front.json --stdio\n";
}

Result<std::string> init(const std::string& wanted, const Console& console) {
  const auto directory = platform::planned_path(wanted);
  if (!directory) return refuse_dir("cannot be used: " + directory.error().message);
  const auto made = platform::make_private_directory(*directory);
  if (!made) return refuse_dir("cannot be used: " + made.error().message);
  RB_CHECK(check_new(*directory, "repobridge.env"));
  RB_CHECK(check_new(*directory, "bridge.key"));
  RB_CHECK(check_new(*directory, "front.token"));
  RB_CHECK(create_all(*directory));
  return next_steps(*directory, console.out);
}

Run attach(CLI::App& app) {
  const auto directory = std::make_shared<std::string>();  // shared: the parser writes it, the Run reads it
  app.add_option("--dir", *directory, "The directory to make and fill")->required();
  return [directory](const Console& console) { return init(*directory, console); };
}

}  // namespace

const Command kInit{.name = "init",
                    .summary = "Make a directory with an example env file, a new key and a new token",
                    .attach = attach};

}  // namespace repobridge::admin
