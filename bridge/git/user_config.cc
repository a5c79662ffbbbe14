#include "bridge/git/user_config.h"

#include <unistd.h>

#include <cstdlib>

#include "bridge/git/local_config.h"
#include "bridge/git/memory_file.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

Failure invalid() {
  return policy::refuse(
      policy::codes::kUserConfigInvalid,
      "the git configuration of the bridge's user cannot be read; `git config --list` as that user "
      "says where it breaks");
}

Result<void> add_level(git_config* config, git_repository* repository, int (*find)(git_buf*),
                       git_config_level_t level) {
  Buffer path;
  if (find(path.get()) != 0) {
    git_error_clear();
    return {};
  }
  const int code = git_config_add_file_ondisk(config, path.get()->ptr, level, repository, 0);
  if (code >= 0 || code == GIT_ENOTFOUND) return {};
  (void)git_failure(code, "read the user's git configuration");
  return invalid();
}

// One entry in the form that is read back: [section "sub"] name = value.
std::string entry_text(const std::string& key, const char* value) {
  const auto first = key.find('.');
  const auto last = key.rfind('.');
  std::string text = "[" + key.substr(0, first);
  if (last > first) text += " " + quoted_config_value(key.substr(first + 1, last - first - 1));
  text += "]\n\t" + key.substr(last + 1);
  // A name without '=' is true, and libgit2 says so by a null value.
  if (value != nullptr) text += " = " + quoted_config_value(value);
  return text + "\n";
}

Result<std::string> text_of(git_config* config) {
  std::string text;
  const auto append = [](const git_config_entry* entry, void* into) {
    static_cast<std::string*>(into)->append(entry_text(entry->name, entry->value));
    return 0;
  };
  const int code = git_config_foreach(config, append, &text);
  if (code >= 0) return text;
  (void)git_failure(code, "read the user's git configuration");
  return invalid();
}

std::optional<std::string> path_value(git_config* config, const char* key) {
  Buffer value;
  if (git_config_get_path(value.get(), config, key) == 0) return std::string(value.view());
  git_error_clear();
  return std::nullopt;
}

std::string home_file(const char* variable, const char* fallback, const std::string& name) {
  const char* base = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): the worker has one thread
  if (base != nullptr && *base != '\0') return std::string(base) + name;
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  return home == nullptr ? std::string() : std::string(home) + fallback + name;
}

}  // namespace

Result<UserConfig> UserConfig::read(git_repository* repository) {
  OwnedConfig config;
  RB_CHECK(git_check(git_config_new(into(config)), "make a configuration"));
  RB_CHECK(add_level(config.get(), repository, git_config_find_global, GIT_CONFIG_LEVEL_GLOBAL));
  RB_CHECK(add_level(config.get(), repository, git_config_find_xdg, GIT_CONFIG_LEVEL_XDG));
  RB_CHECK(add_level(config.get(), repository, git_config_find_system, GIT_CONFIG_LEVEL_SYSTEM));
  RB_TRY(const auto text, text_of(config.get()));
  UserConfig user;
  RB_TRY(user.text_, memory_file(text));
  OwnedConfig snapshot;
  RB_CHECK(git_check(git_config_snapshot(into(snapshot), config.get()), "read the user's configuration"));
  user.excludes_file_ = path_value(snapshot.get(), "core.excludesfile");
  user.attributes_file_ = path_value(snapshot.get(), "core.attributesfile");
  return user;
}

std::string UserConfig::path() const { return path_of_descriptor(text_.get()); }

std::vector<std::string> UserConfig::consulted_files() const {
  std::vector<std::string> files{"/etc/gitattributes",
                                 home_file("XDG_CONFIG_HOME", "/.config", "/git/ignore"),
                                 home_file("XDG_CONFIG_HOME", "/.config", "/git/attributes")};
  if (excludes_file_) files.push_back(*excludes_file_);
  if (attributes_file_) files.push_back(*attributes_file_);
  std::erase_if(files, [](const std::string& file) { return ::access(file.c_str(), R_OK) != 0; });
  return files;
}

}  // namespace repobridge::git
