// The one place that knows the names of the settings: an env file becomes Settings, values still as the
// administrator wrote them where only the host can say more (does the path exist, what does a file hold).
//
// Promise: every name in the file is known, or the file is refused; every value is of its kind. A workdir
// slot is whole (ALIAS and PATH) or absent. Errors: CONFIG_INVALID, naming the variable. Source:
// docs/POLICY.md, "Settings".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/result.h"
#include "policy/env_file.h"
#include "policy/policy.h"

namespace repobridge::policy {

struct WorkdirSettings {
  std::string slot;  // "WORKDIR_01_", for naming a variable in an error
  std::string alias;
  std::string path;
  std::string description;
  bool read_only = true;
  bool repo_ops_enabled = false;
  PathRules::Settings rules;
  std::optional<std::string> actions_json;
  std::optional<std::string> actions_file;
  PushPolicy push;
  std::optional<GitIdentity> identity;
  std::chrono::seconds lease_wait{0};
};

struct Settings {
  std::optional<std::string> socket_path;
  std::optional<std::string> key_file;
  std::optional<std::string> state_dir;
  std::optional<std::string> lock_dir;
  std::vector<PushAllowance> push_allowed;
  bool allow_unsandboxed_git = false;
  Limits limits;
  RunLimits runs;
  // Token files where not said: none, and the default is the rendering's to settle.
  HttpPolicy http;
  std::optional<OauthPolicy> oauth;
  std::vector<WorkdirSettings> workdirs;
};

Result<Settings> read_settings(const EnvFile& file);

// The setting of a field of OauthPolicy.
std::string oauth_variable(std::string_view field);

// A refusal that names a variable.
Failure refuse_variable(const std::string& variable, std::string_view problem);

}  // namespace repobridge::policy
