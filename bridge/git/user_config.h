// The git configuration of the bridge's user and of the machine: trusted, read once with everything it
// includes, and handed on as one text, so that a worker in its sandbox needs none of those files any more.
//
// Promise: what git would use of the system, XDG and global files for this repository. Owns: the text, in
// memory. Threads: one. Errors: GIT_USER_CONFIG_INVALID. Source: bridge/git/user_includes.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridge/git/user_includes.h"
#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::git {

class UserConfig {
 public:
  static Result<UserConfig> read(const Situation& here);

  // A path that libgit2 opens.
  [[nodiscard]] std::string path() const;
  // Files of the user that git consults by their names: ignore rules and attributes, where they are there.
  [[nodiscard]] std::vector<std::string> consulted_files() const;
  // Every file that had a part in this, or would have had if it were there.
  [[nodiscard]] std::vector<std::string> sources() const;

 private:
  UserConfig() = default;
  [[nodiscard]] std::vector<std::string> named_files() const;
  platform::UniqueFd text_;
  std::vector<std::string> files_;
  std::optional<std::string> excludes_file_;
  std::optional<std::string> attributes_file_;
};

}  // namespace repobridge::git
