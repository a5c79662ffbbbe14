#include "bridge/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <initializer_list>
#include <map>

#include "policy/codes.h"
#include "policy/json.h"
#include "policy/text.h"

namespace repobridge::bridge {
namespace {

constexpr std::string_view kFallbackPath = "/usr/local/bin:/usr/bin:/bin";

std::vector<std::string> inherited(std::initializer_list<const char*> names) {
  std::vector<std::string> environment;
  for (const char* name : names) {
    // The bridge sets no environment variable after its start, so reading them races with nobody.
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (value != nullptr) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

std::string path_variable() {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  return "PATH=" + safe_path(path != nullptr ? path : kFallbackPath);
}

bool safe_directory(const std::string& directory) {
  struct stat s {};
  if (!directory.starts_with('/') || ::stat(directory.c_str(), &s) != 0 || !S_ISDIR(s.st_mode)) return false;
  return (s.st_uid == 0 || s.st_uid == ::geteuid()) && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void append(std::vector<std::string>& environment, std::initializer_list<const char*> settings) {
  for (const char* setting : settings) environment.emplace_back(setting);
}

using Variables = std::map<std::string, std::string>;

Variables own_variables(const policy::Action& action) {
  Variables own = action.env;
  for (const auto& name : action.env_passthrough) {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value != nullptr) own[name] = value;
  }
  return own;
}

Result<void> check_variables(const Variables& own, const policy::Redactor& secrets) {
  policy::Json refused = policy::Json::array();
  std::size_t total = 0;
  for (const auto& [name, value] : own) {
    const std::size_t size = name.size() + value.size() + 2;
    total += size;
    if (size > policy::kMaxVariableBytes || secrets.holds_exact(value)) refused.push_back(name);
  }
  if (refused.empty() && total <= 2 * policy::kMaxEnvironmentBytes) return {};
  return policy::refuse(
      policy::codes::kActionEnvironment,
      "the action's environment (details.names) would hold a secret of the bridge or be too large; "
      "nothing was started. The administrator looks at its env and env_passthrough",
      policy::Json{{"names", std::move(refused)}});
}

}  // namespace

std::string safe_path(std::string_view path) {
  std::string safe;
  for (const auto& directory : policy::split(path, ':')) {
    if (!safe_directory(directory)) continue;
    safe += (safe.empty() ? "" : ":") + directory;
  }
  return safe.empty() ? std::string(kFallbackPath) : safe;
}

std::vector<std::string> git_worker_environment() {
  auto environment = inherited({"HOME", "XDG_CONFIG_HOME"});
  environment.push_back(path_variable());
  return environment;
}

Result<std::vector<std::string>> action_environment(const policy::Action& action,
                                                    const policy::Redactor& secrets) {
  const auto own = own_variables(action);
  RB_CHECK(check_variables(own, secrets));
  auto environment = inherited(
      {"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"});
  environment.push_back(path_variable());
  environment.emplace_back("TMPDIR=/tmp");
  // An action may call git in the workdir; what the repository's configuration names is not started for it.
  append(environment,
         {"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor",
          "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=/dev/null"});
  for (const auto& [name, value] : own) {
    const std::string beginning = name + "=";
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(beginning); });
    environment.push_back(beginning + value);
  }
  return environment;
}

std::vector<std::string> push_environment(std::string_view protocol, const std::string& directory) {
  auto environment =
      inherited({"HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
                 "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "GIT_SSL_CAINFO"});
  environment.push_back(path_variable());
  environment.push_back("GIT_ALLOW_PROTOCOL=" + std::string(protocol));
  environment.push_back("GIT_CEILING_DIRECTORIES=" + directory);
  append(environment, {"LC_ALL=C", "LANGUAGE=", "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never",
                       // Set but empty: core.askPass is not asked either.
                       "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_NO_LAZY_FETCH=1",
                       "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_COUNT=0",
                       "GIT_ATTR_NOSYSTEM=1", "GIT_PAGER=cat", "GIT_EDITOR=false"});
  return environment;
}

}  // namespace repobridge::bridge
