#include "bridge/git/written_directories.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "platform/files.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

// As git makes them; the umask takes away what the user wants taken away.
constexpr mode_t kDirectoryMode = 0777;

// One level at a time, each opened without following a link.
Result<void> make_directory(int git_directory, const std::string& path) {
  std::string so_far;
  for (const auto& component : policy::split(path, '/')) {
    so_far += (so_far.empty() ? "" : "/") + component;
    const auto there = platform::open_beneath(git_directory, so_far, platform::OpenAs::location);
    if (there || !platform::is_absent(there.error())) continue;  // of another kind: the audit says so
    if (::mkdirat(git_directory, so_far.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return os_failure("make a directory in .git", errno);
    }
  }
  return {};
}

constexpr std::array kPowers = {Power::look, Power::commit, Power::track};

}  // namespace

std::optional<Power> find_power(std::string_view name) {
  for (const Power power : kPowers) {
    if (name_of(power) == name) return power;
  }
  return std::nullopt;
}

std::string_view name_of(Power power) {
  switch (power) {
    case Power::look:
      return "look";
    case Power::commit:
      return "commit";
    case Power::track:
      return "track";
  }
  std::abort();
}

std::vector<std::string> written_directories(Power power) {
  switch (power) {
    case Power::look:
      return {};
    case Power::commit:
      return {"objects", "logs"};
    case Power::track:
      return {"logs/refs/remotes"};
  }
  std::abort();
}

Result<void> make_written_directories(int git_directory, Power power) {
  for (const auto& directory : written_directories(power)) RB_CHECK(make_directory(git_directory, directory));
  return {};
}

}  // namespace repobridge::git
