#include "bridge/admin/env_source.h"

#include <cstdlib>

#include "platform/files.h"
#include "platform/user.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

constexpr std::size_t kMaxActionsFileBytes = 1U << 20U;

}  // namespace

Result<policy::Settings> read_env_source(const std::string& path) {
  const auto bytes = platform::read_trusted_file(path, policy::kMaxEnvFileBytes);
  if (!bytes) {
    return policy::refuse(policy::codes::kConfigUnreadable,
                          "the env file cannot be read: " + bytes.error().message);
  }
  RB_TRY(const auto file, policy::parse_env_file(*bytes));
  return policy::read_settings(file);
}

Result<std::string> default_env_file() {
  const char* configured = std::getenv("XDG_CONFIG_HOME");  // NOLINT(concurrency-mt-unsafe): one thread
  std::string directory = configured == nullptr ? "" : configured;
  if (!directory.starts_with('/')) {
    RB_TRY(const auto user, platform::current_user());
    directory = user.home + "/.config";
  }
  return directory + "/repobridge/repobridge.env";
}

Result<std::string> bridge_config(const std::string& named) {
  if (!named.empty()) return named;
  RB_TRY(const auto env_file, default_env_file());
  return env_file.substr(0, env_file.rfind('/')) + "/bridge.json";
}

std::string actions_variable(const policy::WorkdirSettings& workdir) {
  return workdir.slot + (workdir.actions_file ? "REPO_ACTIONS_FILE" : "REPO_ACTIONS_JSON");
}

Result<policy::Actions> read_actions(const policy::WorkdirSettings& workdir, policy::Digests digests) {
  const std::string variable = actions_variable(workdir);
  if (workdir.actions_json) return policy::parse_actions(*workdir.actions_json, variable, digests);
  if (!workdir.actions_file) return policy::Actions{};
  if (!workdir.actions_file->starts_with('/')) {
    return policy::refuse_variable(variable, "must be an absolute path");
  }
  const auto text = platform::read_trusted_file(*workdir.actions_file, kMaxActionsFileBytes);
  if (!text) return policy::refuse_variable(variable, "cannot be read: " + text.error().message);
  return policy::parse_actions(*text, variable, digests);
}

}  // namespace repobridge::admin
