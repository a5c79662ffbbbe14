// Attributes of named paths, and what becomes of a file's bytes on their way into git.
//
// Promise: only built-in line-ending conversion is ever applied. A path with an external filter, an encoding
// or ident is refused, whatever scope set it, and so is an attribute file that git and libgit2 would read in
// two ways (quoted patterns, over-long lines, links): what we cannot see we do not guess. Errors:
// REPO_PATH_FILTERED (details.path, attribute), REPO_UNSUPPORTED_ATTRIBUTES (details.place). Source:
// gitattributes(5); docs/SECURITY.md.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "bridge/git/repository.h"
#include "policy/repo_path.h"

namespace repobridge::git {

inline constexpr std::size_t kMaxAttributeLineBytes = 2048;  // git ignores longer ones, libgit2 does not

// Refuses what git and libgit2 would read in two ways. `place` is for the message.
Result<void> check_attribute_text(std::string_view text, const std::string& place);

class Attributes {
 public:
  // Both must outlive this.
  Attributes(const Repository& repository, git_index* index) : repository_(&repository), index_(index) {}

  // Refuses a path whose bytes git would pass through a program or another encoding.
  Result<void> check(const policy::RepoPath& path);

  // The bytes that git would store for the file; check() must have passed.
  [[nodiscard]] Result<std::string> to_stored(const policy::RepoPath& path, std::string bytes) const;

  // What the diff attribute says: true is text, false is binary; nullopt leaves it to the content.
  [[nodiscard]] std::optional<bool> text_for_diff(const policy::RepoPath& path) const;

 private:
  Result<void> check_files_for(const policy::RepoPath& path);
  Result<void> check_file(const std::string& place);
  Result<void> check_info();
  const Repository* repository_;
  git_index* index_;
  std::set<std::string> checked_;  // attribute files looked at already
};

}  // namespace repobridge::git
