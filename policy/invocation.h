// Which elements of an argument vector are executed: "timeout 5", "env" and "uv run" start the program that
// comes next, an interpreter the script that comes next. What an action executes must be settled by the
// administrator, so a caller's path may be no such element.
//
// Promise: where an element cannot be told to be an argument it counts as executed; a program that the table
// does not know executes none of its arguments. Pure. Source: the programs' own documentation;
// docs/POLICY.md, "Actions".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace repobridge::policy {

struct Executed {
  enum class As : std::uint8_t { program, script };
  std::size_t element = 0;
  As as = As::program;
};

struct Invocation {
  std::vector<Executed> executed;  // in the order in which they start; argv[0] is the first
  bool next_would_be = false;      // whether one more element at the end would be executed
  [[nodiscard]] bool executes(std::size_t element) const;
};

// Whether a program is known to start what its arguments name or say.
bool starts_others(std::string_view program);

// `argv` is not empty.
Invocation read_invocation(const std::vector<std::string>& argv);

}  // namespace repobridge::policy
