#include "bridge/git/user_config.h"

#include <unistd.h>

#include <cstdlib>

#include "bridge/git/git2.h"
#include "bridge/git/local_config.h"
#include "bridge/git/memory_file.h"

namespace repobridge::git {
namespace {

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

Result<UserConfig> UserConfig::read(const Situation& here) {
  RB_TRY(auto read, read_user_entries(UserConfigPlaces::of_environment(), here));
  std::string text;
  for (const auto& entry : read.entries) text += config_text(entry);
  UserConfig user;
  user.files_ = std::move(read.files);
  RB_TRY(user.text_, memory_file(text));
  OwnedConfig config;
  RB_CHECK(
      git_check(git_config_open_ondisk(into(config), user.path().c_str()), "read the user's configuration"));
  OwnedConfig snapshot;
  RB_CHECK(git_check(git_config_snapshot(into(snapshot), config.get()), "read the user's configuration"));
  user.excludes_file_ = path_value(snapshot.get(), "core.excludesfile");
  user.attributes_file_ = path_value(snapshot.get(), "core.attributesfile");
  return user;
}

std::string UserConfig::path() const { return path_of_descriptor(text_.get()); }

std::vector<std::string> UserConfig::named_files() const {
  std::vector<std::string> files{"/etc/gitattributes",
                                 home_file("XDG_CONFIG_HOME", "/.config", "/git/ignore"),
                                 home_file("XDG_CONFIG_HOME", "/.config", "/git/attributes")};
  if (excludes_file_) files.push_back(*excludes_file_);
  if (attributes_file_) files.push_back(*attributes_file_);
  return files;
}

std::vector<std::string> UserConfig::consulted_files() const {
  auto files = named_files();
  std::erase_if(files, [](const std::string& file) { return ::access(file.c_str(), R_OK) != 0; });
  return files;
}

std::vector<std::string> UserConfig::sources() const {
  auto files = named_files();
  files.insert(files.end(), files_.begin(), files_.end());
  return files;
}

}  // namespace repobridge::git
