#include "policy/path_rules.h"

#include <algorithm>
#include <array>

#include "policy/text.h"

namespace repobridge::policy {
namespace {

// Over a file's own name.
constexpr std::array<std::string_view, 22> kDeniedNames = {
    ".env",        ".env.*",     "*.env",         "id_rsa",          "id_dsa", "id_ecdsa",
    "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "*.pem",           "*.key",  "*.p12",
    "*.pfx",       "*.jks",      "*.kdbx",        ".netrc",          "_netrc", ".git-credentials",
    ".npmrc",      ".pypirc",    ".pgpass",       "credentials.json"};

// A directory of that name, at any depth, and all below it.
constexpr std::array<std::string_view, 5> kDeniedDirectories = {".ssh", ".aws", ".gnupg", ".kube", ".docker"};

constexpr std::string_view kAllBelow = "/**";

// Both in lower case already; scans of whole repositories come through here.
bool matches(std::string_view glob, std::string_view name) {
  return glob_matches(glob, name, LetterCase::exact);
}

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Whether any component of the path satisfies the question.
template <class Question>
bool any_component(std::string_view path, Question question) {
  for (;;) {
    const auto slash = path.find('/');
    if (question(path.substr(0, slash))) return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

bool extra_matches(std::string_view glob, std::string_view path) {
  if (!glob.ends_with(kAllBelow)) return matches(glob, last_component(path));
  const auto name = glob.substr(0, glob.size() - kAllBelow.size());
  return any_component(path, [&](std::string_view component) { return matches(name, component); });
}

}  // namespace

Result<PathRules> PathRules::make(Settings settings) {
  for (std::size_t i = 0; i < settings.extra_deny_globs.size(); ++i) {
    std::string_view name = settings.extra_deny_globs[i];
    if (name.ends_with(kAllBelow)) name.remove_suffix(kAllBelow.size());
    if (name.empty() || name.find('/') != std::string_view::npos) {
      return refuse(codes::kConfigInvalidSetting,
                    "glob " + std::to_string(i + 1) +
                        " must be a pattern for one name, or such a pattern followed by /**");
    }
  }
  PathRules rules(std::move(settings));
  for (const auto& glob : rules.settings_.extra_deny_globs) rules.extra_globs_.push_back(lower_ascii(glob));
  return rules;
}

Result<PathRules> PathRules::from_json(const Json& value, const std::string& where) {
  RB_TRY(auto fields, Fields::of(value, where, codes::kConfigInvalidSetting));
  Settings settings;
  RB_TRY(settings.allow_hidden, fields.flag("allow_hidden", false));
  RB_TRY(settings.disable_default_deny, fields.flag("disable_default_deny", false));
  RB_TRY(settings.extra_deny_globs, fields.optional_texts("extra_deny_globs"));
  RB_CHECK(fields.nothing_else());
  return make(std::move(settings));
}

Json PathRules::to_json() const {
  return Json{{"allow_hidden", settings_.allow_hidden},
              {"disable_default_deny", settings_.disable_default_deny},
              {"extra_deny_globs", settings_.extra_deny_globs}};
}

bool PathRules::hidden(std::string_view path_bytes) const {
  if (settings_.allow_hidden) return false;
  return any_component(path_bytes, [](std::string_view component) { return component.starts_with('.'); });
}

bool PathRules::denied(std::string_view path_bytes) const {
  while (path_bytes.ends_with('/')) path_bytes.remove_suffix(1);
  const std::string path = lower_ascii(path_bytes);
  if (std::ranges::any_of(extra_globs_, [&](const auto& glob) { return extra_matches(glob, path); }))
    return true;
  if (settings_.disable_default_deny) return false;
  const auto name = last_component(path);
  return std::ranges::any_of(kDeniedNames, [&](std::string_view glob) { return matches(glob, name); }) ||
         any_component(path, [](std::string_view component) {
           return std::ranges::find(kDeniedDirectories, component) != kDeniedDirectories.end();
         });
}

bool PathRules::visible(std::string_view path_bytes) const {
  return !hidden(path_bytes) && !denied(path_bytes);
}

Result<void> PathRules::check(const RepoPath& path) const {
  if (denied(path.bytes())) {
    return refuse(codes::kDeniedPath, "policy denies this path; the administrator's deny rules hold for it",
                  Json{{"path", path.text()}});
  }
  if (hidden(path.bytes())) {
    return refuse(codes::kHiddenPath,
                  "a component of the path begins with a dot, which this workdir does not allow",
                  Json{{"path", path.text()}});
  }
  return {};
}

}  // namespace repobridge::policy
