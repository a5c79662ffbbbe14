// The kinds of work that a git worker does, and where in .git each writes. Known to the worker, which is
// confined to these places, and to the bridge, which makes them beforehand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"

namespace repobridge::git {

enum class Power : std::uint8_t {
  look,    // nothing is written
  commit,  // objects and logs
  track,   // logs of tracking branches
};

std::optional<Power> find_power(std::string_view name);
std::string_view name_of(Power power);

// Below .git.
std::vector<std::string> written_directories(Power power);

// Makes those that are missing. `git_directory` is the descriptor of .git.
Result<void> make_written_directories(int git_directory, Power power);

}  // namespace repobridge::git
