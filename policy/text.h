// Small questions about bytes that several rules ask. Pure; no locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace repobridge::policy {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view bytes);
// The longest beginning that is.
std::string_view utf8_prefix(std::string_view bytes);

char lower_ascii(char c);
std::string lower_ascii(std::string_view text);
std::string_view trimmed(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);

// Whether letters of either case are one letter: for rules that deny. What allows must be exact.
enum class LetterCase : std::uint8_t { exact, alike };

// `*`, `?` and `[a-z]`, `[!a-z]` over a whole name, each of bytes as in git. Takes time in proportion to the
// product of the two lengths at worst, whatever the pattern.
bool glob_matches(std::string_view pattern, std::string_view name, LetterCase letters);

}  // namespace repobridge::policy
