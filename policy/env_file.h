// The administrator's env file: NAME=value lines, read once, by rules that no shell has a part in.
//
// Promise: nothing is expanded or executed. A value is bare, 'single-quoted' (verbatim) or "double-quoted"
// (with \" and \\). A bare value that begins with { or [ is taken to the end of its line; any other bare
// value holds no quote, and a # after a blank begins a comment in it. A $ that another reader of such files
// would expand ($NAME, ${…}, $$) is refused outside single quotes, so that a file never means one thing here
// and another there. `export`, a name given twice, unbalanced quotes, control characters and bytes that are
// not UTF-8 are refused. Errors: CONFIG_INVALID with the line's number. Source: docs/POLICY.md, "The env
// file".
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::policy {

inline constexpr std::size_t kMaxEnvFileBytes = 1U << 20U;

struct EnvValue {
  std::string text;
  std::size_t line = 0;
};

using EnvFile = std::map<std::string, EnvValue, std::less<>>;

Result<EnvFile> parse_env_file(std::string_view bytes);

}  // namespace repobridge::policy
