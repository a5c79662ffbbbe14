#include "bridge/admin/own_files.h"

#include "bridge/wire/token.h"
#include "platform/files.h"
#include "platform/local_socket.h"
#include "policy/text.h"

namespace repobridge::admin {
namespace {

enum class As : std::uint8_t { file, private_directory };

struct Place {
  std::string variable;
  std::string path;
};

Result<std::string> planned(const Place& place) {
  auto path = platform::planned_path(place.path);
  if (!path) return policy::refuse_variable(place.variable, "cannot be used: " + path.error().message);
  if (!policy::is_utf8(*path)) {
    return policy::refuse_variable(place.variable,
                                   "leads to a path that is not UTF-8, which JSON cannot hold");
  }
  return path;
}

// What exists of the way to `path` must be ours alone; the rest is made by the bridge, 0700.
Result<void> check_way(const std::string& path, As as) {
  std::string existing = path;
  for (;;) {
    RB_TRY(const auto facts, platform::facts_of_path(existing));
    if (facts) break;
    existing.resize(existing.rfind('/'));
    if (existing.empty()) existing = "/";
  }
  if (existing == path && as == As::private_directory) return platform::check_private_directory(path);
  // The last name does not matter to the question who may write above it.
  return platform::check_ancestors(existing == path ? path : existing + "/below");
}

Result<void> check_place(const Place& place, As as, const Roots& roots) {
  RB_CHECK(check_outside(roots, place.variable, place.path));
  const auto safe = check_way(place.path, as);
  if (!safe) return policy::refuse_variable(place.variable, "cannot be used: " + safe.error().message);
  return {};
}

Result<std::string> private_directory(const Place& wanted, const Roots& roots) {
  RB_TRY(const auto path, planned(wanted));
  RB_CHECK(check_place({.variable = wanted.variable, .path = path}, As::private_directory, roots));
  return path;
}

Result<std::string> place_socket(const std::string& wanted, const Roots& roots) {
  const std::string variable = "REPOBRIDGE_SOCKET_PATH";
  RB_TRY(auto path, planned({.variable = variable, .path = wanted}));
  if (path.size() > platform::kMaxSocketPathBytes) {
    return policy::refuse_variable(variable,
                                   "has more than 107 bytes without links; choose a shorter directory");
  }
  const auto slash = path.rfind('/');
  if (slash == 0) return policy::refuse_variable(variable, "must lie in a directory of its own");
  RB_CHECK(check_place({.variable = variable, .path = path.substr(0, slash)}, As::private_directory, roots));
  return path;
}

Result<std::string> place_file(const Place& wanted, const Roots& roots) {
  RB_TRY(auto path, planned(wanted));
  RB_CHECK(check_place({.variable = wanted.variable, .path = path}, As::file, roots));
  return path;
}

// The default is what `init` made, where it is there.
Result<policy::HttpPolicy> place_http(policy::HttpPolicy http, const std::string& out, const Roots& roots) {
  if (http.tokens.empty()) {
    RB_TRY(const auto facts, platform::facts_of_path(out + "/front.token"));
    if (facts) http.tokens.push_back({.name = "default", .file = out + "/front.token"});
  }
  for (auto& token : http.tokens) {
    const char* variable =
        token.read_only ? "REPOBRIDGE_FRONT_READ_ONLY_TOKEN_FILES" : "REPOBRIDGE_FRONT_TOKEN_FILES";
    RB_TRY(token.file, place_file({.variable = variable, .path = token.file}, roots));
    const auto usable = wire::read_token(token.file);
    if (!usable) return policy::refuse_variable(variable, "cannot be used: " + usable.error().message);
  }
  if (!http.tls) return http;
  RB_TRY(http.tls->certificate,
         place_file({.variable = "REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE", .path = http.tls->certificate},
                    roots));
  RB_TRY(http.tls->key,
         place_file({.variable = "REPOBRIDGE_FRONT_TLS_KEY_FILE", .path = http.tls->key}, roots));
  return http;
}

Result<std::string> place_locks(const policy::Settings& settings, const std::string& home,
                                const Roots& roots) {
  const std::string variable = "REPOBRIDGE_LOCK_DIR";
  if (settings.lock_dir) return private_directory({.variable = variable, .path = *settings.lock_dir}, roots);
  const auto facts = platform::facts_of_path(home + "/.");
  if (!facts || !*facts) {
    return policy::refuse_variable(variable, "must be set: this user has no home directory for its default");
  }
  return private_directory({.variable = variable, .path = home + "/.local/state/repobridge/locks"}, roots);
}

}  // namespace

Result<void> check_outside(const Roots& roots, const std::string& named, const std::string& path) {
  RB_TRY(const Root* root, roots.holding(path));
  if (root == nullptr) return {};
  return policy::refuse_variable(
      named, "lies inside the workdir of " + root->slot + "PATH, whose contents others decide");
}

Result<OwnFiles> place_own_files(const policy::Settings& settings, const std::string& out,
                                 const std::string& home, const Roots& roots) {
  RB_TRY(const auto directory, planned({.variable = "--out", .path = out}));
  RB_CHECK(check_place({.variable = "--out", .path = directory + "/bridge.json"}, As::file, roots));
  OwnFiles own;
  RB_TRY(own.socket, place_socket(settings.socket_path.value_or(out + "/run/bridge.sock"), roots));
  RB_TRY(own.key, place_file({.variable = "REPOBRIDGE_KEY_FILE",
                              .path = settings.key_file.value_or(out + "/bridge.key")},
                             roots));
  RB_TRY(own.state_dir, private_directory({.variable = "REPOBRIDGE_STATE_DIR",
                                           .path = settings.state_dir.value_or(out + "/state")},
                                          roots));
  RB_TRY(own.lock_dir, place_locks(settings, home, roots));
  RB_TRY(own.http, place_http(settings.http, out, roots));
  return own;
}

}  // namespace repobridge::admin
