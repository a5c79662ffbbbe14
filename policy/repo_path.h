// A path inside a workdir: relative, one spelling per file, never git's own data.
//
// Promise: a RepoPath can be made only by parse() or from_bytes(), so whoever holds one holds a path that
// stays beneath its root after joining, has no empty, "." or ".." component, and no component that git or a
// file system of any platform would take for ".git". It may hold any other bytes. That it leads through no
// link is for the one who opens it to see to. Units: at most kMaxPathBytes, each component at most 255 bytes.
// Errors: INVALID_PATH, PATH_OUTSIDE_WORKDIR, DENIED_PATH; details.path repeats what was named.
// Source: git's path.c (is_ntfs_dotgit, is_hfs_dotgit) and quote.c.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"

namespace repobridge::policy {

inline constexpr std::size_t kMaxPathBytes = 4096;

class RepoPath {
 public:
  // From a JSON string: the path itself, or git's C-quoted form when it begins with a double quote.
  static Result<RepoPath> parse(std::string_view text);
  // From raw bytes, as git stores them.
  static Result<RepoPath> from_bytes(std::string_view bytes);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // What parse() takes back: C-quoted when it is not UTF-8 or begins with a double quote.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<std::string> components() const;
  [[nodiscard]] std::string parent() const;  // "" at the top
  [[nodiscard]] std::string name() const;

  friend auto operator<=>(const RepoPath&, const RepoPath&) = default;

 private:
  explicit RepoPath(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

// Any bytes as RepoPath::text() would show them, for what is reported and not named by a caller.
std::string path_text(std::string_view bytes);

// What becomes of bytes above 127, which git quotes or not by core.quotePath.
enum class HighBytes : std::uint8_t { escaped, kept };
// Git's C quoting, the quotes included.
std::string c_quoted(std::string_view bytes, HighBytes high = HighBytes::escaped);
// The bytes of a C-quoted string; INVALID_PATH when it is none.
Result<std::string> c_unquoted(std::string_view quoted);

// Whether git on some platform would take this component for ".git".
bool is_dot_git(std::string_view component);

}  // namespace repobridge::policy
