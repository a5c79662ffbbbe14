// Patterns over paths and URLs as git's configuration has them: `*` and `?` stop at a slash, `**` as a whole
// component does not, `[…]` is a class, a backslash makes the next character plain.
//
// Promise: takes time in proportion to the product of the two lengths at worst, whatever the pattern; nothing
// longer than kMaxWildmatchBytes matches or is matched. Bytes, no locale. Source: gitignore(5), "PATTERN
// FORMAT"; git's wildmatch with WM_PATHNAME.
#pragma once

#include <cstddef>
#include <string_view>

#include "policy/text.h"

namespace repobridge::git {

inline constexpr std::size_t kMaxWildmatchBytes = 4096;

bool wildmatch(std::string_view pattern, std::string_view text,
               policy::LetterCase letters = policy::LetterCase::exact);

}  // namespace repobridge::git
