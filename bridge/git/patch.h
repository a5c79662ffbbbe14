// The text of one file's difference, in the form that `git diff --full-index` prints.
//
// Promise: fixed prefixes a/ and b/, three lines of context, no colour, whatever anybody's configuration
// says. A name is C-quoted only where it holds control characters, a quote, a backslash or bytes that are not
// UTF-8. Never longer than `max_bytes`, cut at the end of a line. Source: git-diff(1), "Generating patch text
// with -p".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bridge/git/git2.h"

namespace repobridge::git {

// One side of a difference. Absent: the file is not there on that side.
struct Side {
  std::string path;
  git_filemode_t mode = GIT_FILEMODE_BLOB;
  git_oid oid{};
  std::string bytes;
};

struct Patch {
  std::string text;
  bool binary = false;
  std::size_t additions = 0;
  std::size_t deletions = 0;
  bool truncated = false;
};

// At least one side is there.
struct Sides {
  std::optional<Side> before;
  std::optional<Side> after;
  unsigned similarity = 0;  // in percent, of a rename
};

// `text`: what attributes say about the content; nullopt leaves it to the bytes.
Result<Patch> make_patch(const Sides& sides, std::optional<bool> text, std::size_t max_bytes);

}  // namespace repobridge::git
