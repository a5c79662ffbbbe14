#include "bridge/admin/rendering.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bridge/admin/arguments.h"
#include "bridge/admin/argv.h"
#include "bridge/admin/env_source.h"
#include "bridge/admin/own_files.h"
#include "bridge/wire/config.h"
#include "bridge/wire/key.h"
#include "platform/digest.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

constexpr const char* kFrontName = "default";
constexpr std::size_t kMaxOauthFileBytes = 1U << 20U;

Result<void> check_sources(const RenderRequest& request, const Roots& roots) {
  RB_TRY(const auto env_file, platform::planned_path(request.env_file));
  RB_CHECK(check_outside(roots, "--env-file", env_file));
  for (const auto& workdir : request.settings.workdirs) {
    if (!workdir.actions_file) continue;
    const auto path = platform::planned_path(*workdir.actions_file);
    if (!path) {
      return policy::refuse_variable(actions_variable(workdir), "cannot be used: " + path.error().message);
    }
    RB_CHECK(check_outside(roots, actions_variable(workdir), *path));
  }
  return {};
}

Result<void> check_oauth_file(const std::string& field, const std::string& path, const Roots& roots) {
  if (path.empty()) return {};
  const auto variable = policy::oauth_variable(field);
  const auto planned = platform::planned_path(path);
  if (!planned) return policy::refuse_variable(variable, "cannot be used: " + planned.error().message);
  RB_CHECK(check_outside(roots, variable, *planned));
  const auto read = platform::read_trusted_file(path, kMaxOauthFileBytes);
  if (!read) return policy::refuse_variable(variable, "cannot be used: " + read.error().message);
  return {};
}

Result<void> check_oauth(const policy::Settings& settings, const Roots& roots) {
  if (!settings.oauth) return {};
  RB_CHECK(check_oauth_file("jwks_file", settings.oauth->jwks_file, roots));
  return check_oauth_file("jwks_ca_file", settings.oauth->jwks_ca_file, roots);
}

Result<void> check_key(const std::string& path) {
  const auto key = wire::read_key(kFrontName, path);
  if (!key) return policy::refuse_variable("REPOBRIDGE_KEY_FILE", "cannot be used: " + key.error().message);
  return {};
}

Result<void> check_timeout(const policy::Action& action, const policy::RunLimits& runs,
                           const std::string& variable) {
  if (!action.timeout || *action.timeout <= runs.longest) return {};
  return policy::refuse(policy::codes::kConfigInvalidSetting,
                        variable + ": '" + action.name +
                            ".timeout_seconds' is more than REPOBRIDGE_MAX_RUN_SECONDS allows (" +
                            std::to_string(runs.longest.count()) + ")",
                        policy::Json{{"argument", action.name + ".timeout_seconds"}});
}

Result<policy::Workdir> render_workdir(const policy::WorkdirSettings& settings, const Roots& roots,
                                       const policy::RunLimits& runs, const std::string& search_path,
                                       std::vector<RenderWarning>& warnings) {
  const Root& root = roots.of_slot(settings.slot);
  policy::Workdir workdir{.alias = settings.alias,
                          .description = settings.description,
                          .read_only = settings.read_only,
                          .path = root.path,
                          .push = settings.push,
                          .identity = settings.identity,
                          .lease_wait = settings.lease_wait};
  RB_TRY(workdir.rules, policy::PathRules::make(settings.rules));
  RB_TRY(workdir.actions, read_actions(settings, policy::Digests::required));
  const std::string variable = actions_variable(settings);
  for (auto& [name, action] : workdir.actions) {
    RB_CHECK(check_timeout(action, runs, variable));
    const ProgramSearch search{
        .roots = &roots, .root = &root, .search_path = search_path, .variable = variable};
    RB_CHECK(settle_program(action, search));
    RB_CHECK(check_arguments(action, search));
    for (auto& unpinned : unpinned_reads(action, search)) {
      warnings.push_back({.workdir = settings.alias, .action = name, .unpinned = std::move(unpinned)});
    }
  }
  return workdir;
}

// As the programs will read it; a rendering that they would refuse is a fault of ours, met before it is kept.
Result<void> prove(const Rendering& rendering) {
  if (rendering.bridge_json.size() > wire::kMaxConfigBytes) {
    return policy::refuse(policy::codes::kConfigInvalidSetting,
                          "the configuration would be larger than 4 MiB; pin fewer files");
  }
  RB_CHECK(wire::parse_bridge_policy(rendering.bridge_json).map([](const auto&) {}));
  RB_CHECK(wire::parse_front_policy(rendering.front_json).map([](const auto&) {}));
  return {};
}

std::vector<std::string> secret_files(const policy::HttpPolicy& http) {
  std::vector<std::string> files;
  std::ranges::transform(http.tokens, std::back_inserter(files), &policy::BearerToken::file);
  if (http.tls) files.push_back(http.tls->key);
  return files;
}

}  // namespace

Result<Rendering> make_rendering(const RenderRequest& request) {
  const auto& settings = request.settings;
  Rendering rendering;
  auto& bridge = rendering.bridge;
  RB_TRY(const auto roots, Roots::of(settings.workdirs));
  RB_TRY(auto own, place_own_files(settings, request.out, request.home, roots));
  RB_CHECK(check_sources(request, roots));
  RB_CHECK(check_key(own.key));
  RB_CHECK(check_oauth(settings, roots));
  bridge.socket_path = std::move(own.socket);
  bridge.state_dir = std::move(own.state_dir);
  bridge.lock_dir = std::move(own.lock_dir);
  bridge.limits = settings.limits;
  bridge.runs = settings.runs;
  bridge.push_allowed = settings.push_allowed;
  bridge.allow_unsandboxed_git = settings.allow_unsandboxed_git;
  policy::Front front{
      .name = kFrontName, .key_file = std::move(own.key), .secret_files = secret_files(own.http)};
  for (const auto& one : settings.workdirs) {
    RB_TRY(auto workdir, render_workdir(one, roots, settings.runs, request.search_path, rendering.warnings));
    if (!one.repo_ops_enabled) {
      rendering.switched_off.push_back(one.alias);
      continue;
    }
    front.workdirs.push_back(one.alias);
    bridge.workdirs.emplace(one.alias, std::move(workdir));
  }
  bridge.fronts.push_back(front);
  bridge.digest = platform::sha256_hex(policy::digest_input(bridge));
  rendering.bridge_json = policy::dump_json(policy::to_json(bridge)) + "\n";
  auto front_policy = policy::front_side(bridge, front);
  front_policy.http = std::move(own.http);
  front_policy.oauth = settings.oauth;
  rendering.front_json = policy::dump_json(policy::to_json(front_policy)) + "\n";
  RB_CHECK(prove(rendering));
  return rendering;
}

}  // namespace repobridge::admin
