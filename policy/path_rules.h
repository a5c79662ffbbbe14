// Which paths of a workdir a caller may see and touch.
//
// Promise: two independent rules. Hidden: a component that begins with a dot. Denied: names and directories
// where credentials live, and the administrator's own globs. Letters of either case are alike, so that a rule
// for id_rsa holds for ID_RSA too. The built-in list can be switched off, the administrator's globs cannot.
// Errors: HIDDEN_PATH_NOT_ALLOWED, DENIED_PATH.
// Source: docs/POLICY.md, "Paths".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"
#include "policy/repo_path.h"

namespace repobridge::policy {

class PathRules {
 public:
  struct Settings {
    bool allow_hidden = false;
    bool disable_default_deny = false;
    // Each a glob over a file's own name, or NAME/** for a directory of that name and all below it.
    std::vector<std::string> extra_deny_globs;
  };

  PathRules() = default;
  // Refuses (CONFIG_INVALID) a glob of another form, naming it by its place in the list.
  static Result<PathRules> make(Settings settings);
  static Result<PathRules> from_json(const Json& value, const std::string& where);
  [[nodiscard]] Json to_json() const;

  [[nodiscard]] Result<void> check(const RepoPath& path) const;
  // The same question about a path that nobody named, as git stores it.
  [[nodiscard]] bool visible(std::string_view path_bytes) const;
  [[nodiscard]] bool denied(std::string_view path_bytes) const;

 private:
  explicit PathRules(Settings settings) : settings_(std::move(settings)) {}
  [[nodiscard]] bool hidden(std::string_view path_bytes) const;
  Settings settings_;
  std::vector<std::string> extra_globs_;  // the same in lower case
};

}  // namespace repobridge::policy
