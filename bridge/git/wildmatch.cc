#include "bridge/git/wildmatch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace repobridge::git {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alpha(char c) { return is_lower(c) || is_upper(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_graph(char c) { return c > ' ' && c < 0x7F; }
bool is_print(char c) { return c == ' ' || is_graph(c); }
bool is_punct(char c) { return is_graph(c) && !is_alnum(c); }
bool is_cntrl(char c) { return (c >= 0 && c < ' ') || c == 0x7F; }
bool is_xdigit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool in_range(char c, char low, char high) {
  const auto byte = [](char value) { return static_cast<unsigned char>(value); };
  return byte(low) <= byte(c) && byte(c) <= byte(high);
}

struct NamedClass {
  std::string_view name;
  bool (*holds)(char c);
};
constexpr std::array<NamedClass, 12> kNamedClasses{{{"alnum", is_alnum},
                                                    {"alpha", is_alpha},
                                                    {"blank", is_blank},
                                                    {"cntrl", is_cntrl},
                                                    {"digit", is_digit},
                                                    {"graph", is_graph},
                                                    {"lower", is_lower},
                                                    {"print", is_print},
                                                    {"punct", is_punct},
                                                    {"space", is_space},
                                                    {"upper", is_upper},
                                                    {"xdigit", is_xdigit}}};

// A bracket expression, read against one character.
class Class {
 public:
  Class(std::string_view pattern, std::size_t bracket, char c, bool fold)
      : pattern_(pattern), at_(bracket + 1), c_(c), fold_(fold) {}

  // Behind the closing bracket when the character is in it; nullopt when it is not, or nothing closes it.
  std::optional<std::size_t> match() {
    const bool negated = here() == '!' || here() == '^';
    if (negated) ++at_;
    do {
      if (!read_member()) return std::nullopt;
    } while (here() != ']');
    if (matched_ == negated || c_ == '/') return std::nullopt;
    return at_ + 1;
  }

 private:
  [[nodiscard]] char here(std::size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }

  void note(bool matches) { matched_ = matched_ || matches; }

  // False where the pattern ends too early or names no class.
  bool read_member() {
    if (here() == '\0') return false;
    if (here() == '-' && before_ != '\0' && here(1) != '\0' && here(1) != ']') return read_range();
    if (here() == '[' && here(1) == ':') {
      const auto close = pattern_.find(']', at_ + 2);
      if (close == std::string_view::npos) return false;
      if (close > at_ + 2 && pattern_[close - 1] == ':') return read_named(close);
    }
    if (here() == '\\') ++at_;
    if (here() == '\0') return false;
    note(c_ == here());
    before_ = here();
    ++at_;
    return true;
  }

  bool read_range() {
    ++at_;
    if (here() == '\\') ++at_;
    const char high = here();
    if (high == '\0') return false;
    note(in_range(c_, before_, high));
    if (fold_ && is_lower(c_)) note(in_range(static_cast<char>(c_ - 'a' + 'A'), before_, high));
    before_ = '\0';
    ++at_;
    return true;
  }

  bool read_named(std::size_t close) {
    const auto name = pattern_.substr(at_ + 2, close - 1 - (at_ + 2));
    const auto* found = std::ranges::find(kNamedClasses, name, &NamedClass::name);
    if (found == kNamedClasses.end()) return false;
    note(found->holds(c_) || (fold_ && name == "upper" && is_lower(c_)));
    before_ = '\0';
    at_ = close + 1;
    return true;
  }

  std::string_view pattern_;
  std::size_t at_;
  char c_;
  bool fold_;
  char before_ = '\0';
  bool matched_ = false;
};

class Matcher {
 public:
  Matcher(std::string_view pattern, std::string_view text, bool fold)
      : pattern_(pattern), text_(text), fold_(fold), failed_((pattern.size() + 1) * (text.size() + 1)) {}

  // Whether the rest of the pattern matches the rest of the text.
  bool match(std::size_t p, std::size_t t) {
    const std::size_t began = p * (text_.size() + 1) + t;
    if (failed_[began]) return false;
    while (p < pattern_.size() && pattern_[p] != '*') {
      const auto next = t < text_.size() ? match_one(p, text_[t]) : std::nullopt;
      if (!next) return note_failed(began);
      p = *next;
      ++t;
    }
    const bool matched = p == pattern_.size() ? t == text_.size() : match_stars(p, t);
    return matched || note_failed(began);
  }

 private:
  bool note_failed(std::size_t began) {
    failed_[began] = true;
    return false;
  }

  [[nodiscard]] char folded(char c) const { return fold_ ? policy::lower_ascii(c) : c; }

  // Behind the pattern's element at `p` when that matches the character.
  [[nodiscard]] std::optional<std::size_t> match_one(std::size_t p, char c) const {
    const char element = pattern_[p];
    if (element == '?') return c == '/' ? std::nullopt : std::optional(p + 1);
    if (element == '[') return Class(pattern_, p, folded(c), fold_).match();
    if (element == '\\') ++p;
    if (p == pattern_.size() || folded(pattern_[p]) != folded(c)) return std::nullopt;
    return p + 1;
  }

  bool match_stars(std::size_t p, std::size_t t) {
    const std::size_t end = std::min(pattern_.find_first_not_of('*', p), pattern_.size());
    const bool begins_component = p == 0 || pattern_[p - 1] == '/';
    const auto rest = pattern_.substr(end);
    const bool ends_component = rest.empty() || rest.starts_with('/') || rest.starts_with("\\/");
    const bool over_slashes = end - p > 1 && begins_component && ends_component;
    // "a/**/b" matches "a/b" too.
    if (over_slashes && rest.starts_with('/') && match(end + 1, t)) return true;
    if (rest.empty()) return over_slashes || text_.find('/', t) == std::string_view::npos;
    for (;; ++t) {
      if (match(end, t)) return true;
      if (t == text_.size() || (!over_slashes && text_[t] == '/')) return false;
    }
  }

  std::string_view pattern_;
  std::string_view text_;
  bool fold_;
  std::vector<bool> failed_;  // by where a try began
};

}  // namespace

bool wildmatch(std::string_view pattern, std::string_view text, policy::LetterCase letters) {
  if (pattern.size() > kMaxWildmatchBytes || text.size() > kMaxWildmatchBytes) return false;
  return Matcher(pattern, text, letters == policy::LetterCase::alike).match(0, 0);
}

}  // namespace repobridge::git
