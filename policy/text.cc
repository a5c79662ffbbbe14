#include "policy/text.h"

#include <algorithm>
#include <optional>

namespace repobridge::policy {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

// How many bytes the sequence that begins at `i` has; 0 when it is not well-formed.
std::size_t sequence_length(std::string_view bytes, std::size_t i) {
  const unsigned first = byte_at(bytes, i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || i + length > bytes.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte_at(bytes, i + k) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte_at(bytes, i + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool too_high = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_high ? 0 : length;
}

struct ClassMatch {
  bool matched = false;
  std::size_t length = 0;  // of the class in the pattern, brackets included
};

// nullopt: no closing bracket, so the bracket is an ordinary character.
std::optional<ClassMatch> match_class(std::string_view pattern, char c) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool matched = false;
  for (std::size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    const char low = pattern[i];
    char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = pattern[i + 2];
      i += 2;
    }
    matched = matched || (low <= c && c <= high);
  }
  if (i >= pattern.size()) return std::nullopt;
  return ClassMatch{.matched = matched != negated, .length = i + 1};
}

// Whether the pattern's first element matches `c`, and how long that element is.
ClassMatch match_one(std::string_view pattern, char c) {
  if (pattern.front() == '?') return {.matched = true, .length = 1};
  if (pattern.front() == '[') {
    if (const auto in_class = match_class(pattern, c)) return *in_class;
  }
  return {.matched = pattern.front() == c, .length = 1};
}

}  // namespace

bool is_utf8(std::string_view bytes) { return utf8_prefix(bytes).size() == bytes.size(); }

std::string_view utf8_prefix(std::string_view bytes) {
  std::size_t end = 0;
  while (end < bytes.size()) {
    const std::size_t length = sequence_length(bytes, end);
    if (length == 0) break;
    end += length;
  }
  return bytes.substr(0, end);
}

char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_ascii(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](char c) { return lower_ascii(c); });
  return lowered;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool glob_matches(std::string_view pattern, std::string_view name, LetterCase letters) {
  if (letters == LetterCase::alike) {
    return glob_matches(lower_ascii(pattern), lower_ascii(name), LetterCase::exact);
  }
  std::size_t p = 0;
  std::size_t n = 0;
  // Where to go on when a match fails: the last star, and how much of the name it has taken so far. Only the
  // last star ever needs to take more, which is what keeps this from growing exponentially.
  std::optional<std::size_t> star;
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
      continue;
    }
    if (p < pattern.size()) {
      const auto one = match_one(pattern.substr(p), name[n]);
      if (one.matched) {
        p += one.length;
        ++n;
        continue;
      }
    }
    if (!star) return false;
    p = *star + 1;
    n = ++star_name;
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace repobridge::policy
