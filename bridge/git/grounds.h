// What a worker settled once and for all when it began, and whether that still stands: which directories it
// was confined to, and what the user's configuration says for this repository.
//
// Promise: changed() is true after the workdir or its .git was replaced, after the branch or the repository's
// configuration changed (conditions of the user's includes look at both), and after any file of the user's
// configuration did. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridge/git/user_config.h"
#include "platform/files.h"

namespace repobridge::git {

class Grounds {
 public:
  Grounds(const std::string& root, const UserConfig& user);
  [[nodiscard]] bool changed() const;

 private:
  struct File {
    std::string path;  // links on the way are followed, as git does
    std::optional<platform::FileFacts> facts;
  };
  std::vector<File> directories_;  // of them only which they are: every new entry changes their times
  std::vector<File> files_;
};

}  // namespace repobridge::git
