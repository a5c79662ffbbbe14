// The repository's own configuration, read by us: git and libgit2 never parse it, since it can name programs
// to run, files to include and directories to work on.
//
// Promise: git's grammar, no includes, nothing executed. Text that git would reject is rejected; keys before
// any section and NUL bytes are too. Interior white space of a value becomes single spaces, as git 2.39 reads
// it. Errors: REPO_CONFIG_INVALID. Source: git's config.c (git_parse_source) and git-config(1), "Syntax".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"

namespace repobridge::git {

struct ConfigEntry {
  std::string key;                   // section and name in lower case, a subsection as written
  std::optional<std::string> value;  // absent: a name without '=', which means true
};

class LocalConfig {
 public:
  static Result<LocalConfig> parse(std::string_view text);

  // Entries of another file that come after these.
  void append(LocalConfig later);

  [[nodiscard]] const std::vector<ConfigEntry>& entries() const { return entries_; }
  [[nodiscard]] bool has(std::string_view key) const;
  // The last one wins, as in git.
  [[nodiscard]] std::optional<std::string> last(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> all(std::string_view key) const;
  [[nodiscard]] bool is_true(std::string_view key) const;

 private:
  std::vector<ConfigEntry> entries_;
};

// As git reads a boolean; nullopt for what is none.
std::optional<bool> parse_config_bool(const std::optional<std::string>& value);

// A value in the form that the same grammar reads back.
std::string quoted_config_value(std::string_view value);
// An entry likewise, with the section that it is in.
std::string config_text(const ConfigEntry& entry);

}  // namespace repobridge::git
