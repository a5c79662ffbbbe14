// Paths that a caller names: one that is accepted stays beneath the root, is never git's own, and has a text
// that means it.
#include "policy/repo_path.h"

#include <algorithm>
#include <filesystem>

#include "policy/text.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

void check_accepted(const policy::RepoPath& path) {
  const std::filesystem::path root = "/srv/root";
  const auto joined = root / path.bytes();
  must(joined.lexically_normal() == joined, "there is one spelling per file");
  must(joined.string().starts_with("/srv/root/"), "a path stays beneath the root after joining");
  must(joined.string().size() == path.bytes().size() + root.string().size() + 1, "joining only appends");
  must(path.bytes().find('\0') == std::string::npos, "a path holds no NUL");
  must(std::ranges::none_of(path.components(), policy::is_dot_git), "no component is .git");
  must(
      path.parent().empty() ? path.name() == path.bytes() : path.parent() + "/" + path.name() == path.bytes(),
      "parent and name make the path");

  must(policy::is_utf8(path.text()), "a path's text is UTF-8");
  const auto again = policy::RepoPath::parse(path.text());
  must(again && *again == path, "a path's text means the path");
}

// Git on Windows and on macOS would take such a name for .git; spelt out here apart from the code under test.
bool plainly_dot_git(std::string_view component) {
  const std::string name = policy::lower_ascii(component);
  return name == ".git" || name == "git~1" || name.starts_with(".git:") || name.starts_with(".git\\") ||
         name == ".git." || name == ".git ";
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto unquoted = policy::c_unquoted(policy::c_quoted(bytes));
  must(unquoted && *unquoted == bytes, "quoting can be undone");

  for (const auto& path : {policy::RepoPath::parse(bytes), policy::RepoPath::from_bytes(bytes)}) {
    if (path) check_accepted(*path);
    must(!path || !plainly_dot_git(path->components().front()), ".git is seen");
  }
}

}  // namespace repobridge::fuzz
