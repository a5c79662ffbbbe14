#include "bridge/git/layout.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "platform/files.h"
#include "policy/codes.h"
#include "policy/json.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

using platform::OpenAs;

constexpr std::array kFiles = {"HEAD",
                               "index",
                               "packed-refs",
                               "config",
                               "config.worktree",
                               "shallow",
                               "logs/HEAD",
                               "info/exclude",
                               "info/attributes",
                               "info/grafts",
                               "objects/info/packs",
                               "objects/info/commit-graph",
                               "objects/info/commit-graphs/commit-graph-chain"};
constexpr std::array kDirectories = {"objects",    "objects/info", "objects/pack", "refs",
                                     "refs/heads", "logs",         "info"};
constexpr std::array kAlternates = {"objects/info/alternates", "objects/info/http-alternates"};

Failure unsafe(const std::string& name) {
  return policy::refuse(
      policy::codes::kUnsafeLayout,
      "something inside .git is a link, a FIFO or of another kind than git makes it; replace it "
      "by a real file or directory",
      policy::Json{{"place", name}});
}

Failure foreign(const std::string& name) {
  return policy::refuse(policy::codes::kOwnership,
                        "the repository belongs to another user; the bridge works only on its own user's "
                        "repositories, so have its owner run the bridge or change the owner",
                        policy::Json{{"place", name}});
}

bool is_hex_pair(std::string_view name) {
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Loose objects are written below objects/xx, so none of these may lead elsewhere. Files beside them are what
// a writer left that was killed in the middle of an object; git gc removes them.
Result<void> check_object_directories(int git_directory) {
  auto objects = platform::open_beneath(git_directory, "objects", OpenAs::directory);
  // Without it this is no repository, as libgit2 will say.
  if (!objects && platform::is_absent(objects.error())) return {};
  if (!objects) return fail(std::move(objects).error());
  RB_TRY(const auto names, platform::list_directory(objects->get()));
  for (const auto& name : names) {
    RB_TRY(const auto facts, platform::facts_at(objects->get(), name));
    const bool file_may_be = facts && facts->is_regular() && !is_hex_pair(name);
    if (facts && !facts->is_directory() && !file_may_be) return unsafe("objects/" + name);
  }
  return {};
}

}  // namespace

Result<void> check_place(int git_directory, const std::string& name, Place place) {
  std::string so_far;
  const auto components = policy::split(name, '/');
  for (std::size_t i = 0; i < components.size(); ++i) {
    so_far += (i == 0 ? "" : "/") + components[i];
    auto fd = platform::open_beneath(git_directory, so_far, OpenAs::location);
    if (!fd && fd.error().os_code == ENOENT) return {};
    if (!fd) return unsafe(so_far);
    RB_TRY(const auto facts, platform::facts_of(fd->get()));
    const bool directory = place == Place::directory || i + 1 < components.size();
    if (directory ? !facts.is_directory() : !facts.is_regular()) return unsafe(so_far);
    if (facts.owner != ::geteuid()) return foreign(so_far);
  }
  return {};
}

Result<void> audit_layout(int git_directory, const std::vector<std::string>& references) {
  for (const char* name : kFiles) RB_CHECK(check_place(git_directory, name, Place::file));
  for (const char* name : kDirectories) RB_CHECK(check_place(git_directory, name, Place::directory));
  for (const auto& reference : references) {
    RB_CHECK(check_place(git_directory, reference, Place::file));
    RB_CHECK(check_place(git_directory, "logs/" + reference, Place::file));
  }
  RB_CHECK(check_object_directories(git_directory));
  for (const char* name : kAlternates) {
    const auto fd = platform::open_beneath(git_directory, name, OpenAs::location);
    if (fd || !platform::is_absent(fd.error())) {
      return policy::refuse(policy::codes::kAlternates,
                            "the repository borrows objects from another one (objects/info/alternates); "
                            "`git repack -a -d` and removing that file make it whole");
    }
  }
  return {};
}

}  // namespace repobridge::git
