#include "policy/env_file.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

class Line {
 public:
  Line(std::string_view text, std::size_t number) : text_(text), number_(number) {}

  [[nodiscard]] Failure refused(const std::string& problem) const {
    return refuse(codes::kConfigInvalidSetting, "line " + std::to_string(number_) + ": " + problem);
  }

  Result<std::string> name() {
    const auto equals = text_.find('=');
    const auto name = text_.substr(0, equals);
    if (name.starts_with("export ")) return refused("write NAME=value without 'export'");
    const bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                       std::ranges::all_of(name, [](unsigned char c) {
                         return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
                       });
    if (equals == std::string_view::npos || !plain) {
      return refused("must be NAME=value, the name in capitals, digits and underscores, without spaces");
    }
    text_.remove_prefix(equals + 1);
    return std::string(name);
  }

  Result<std::string> value() {
    const auto after_equals = std::exchange(text_, trimmed(text_));
    if (text_.starts_with('\'')) return single_quoted();
    if (text_.starts_with('"')) return double_quoted();
    return bare(after_equals);
  }

 private:
  // Where a comment begins: a '#' after a blank. Without one it belongs to the value, as for every other
  // reader.
  static std::size_t comment_in(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '#' && i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\t')) return i;
    }
    return std::string_view::npos;
  }

  Result<std::string> bare(std::string_view after_equals) {
    const bool json = text_.starts_with('{') || text_.starts_with('[');
    if (!json) {
      text_ = trimmed(after_equals.substr(0, comment_in(after_equals)));
      if (text_.find_first_of("'\"") != std::string_view::npos) {
        return refused("a value that holds a quote must itself be quoted");
      }
    }
    RB_CHECK(not_expandable(text_));
    return std::string(text_);
  }

  Result<std::string> single_quoted() {
    const auto close = text_.find('\'', 1);
    if (close == std::string_view::npos) return unbalanced();
    std::string value(text_.substr(1, close - 1));
    RB_CHECK(nothing_after(close + 1));
    return value;
  }

  Result<std::string> double_quoted() {
    std::string value;
    for (std::size_t i = 1; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"') {
        RB_CHECK(not_expandable(value));
        RB_CHECK(nothing_after(i + 1));
        return value;
      }
      const bool escape = c == '\\' && i + 1 < text_.size() && (text_[i + 1] == '"' || text_[i + 1] == '\\');
      value += escape ? text_[++i] : c;
    }
    return unbalanced();
  }

  [[nodiscard]] Failure unbalanced() const {
    return refused(
        "the quote is not closed on this line (long JSON belongs in a file: see _REPO_ACTIONS_FILE)");
  }

  [[nodiscard]] Result<void> nothing_after(std::size_t at) const {
    const auto rest = text_.substr(at);
    if (trimmed(rest.substr(0, comment_in(rest))).empty()) return {};
    return refused("something follows the closing quote");
  }

  [[nodiscard]] Result<void> not_expandable(std::string_view value) const {
    for (std::size_t i = 0; i + 1 < value.size(); ++i) {
      const auto next = static_cast<unsigned char>(value[i + 1]);
      const bool expands =
          next == '{' || next == '$' || next == '(' || next == '_' || std::isalpha(next) != 0;
      if (value[i] == '$' && expands) {
        return refused("nothing is expanded here; put the value in single quotes to mean the $ itself");
      }
    }
    return {};
  }

  std::string_view text_;
  std::size_t number_;
};

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F; });
}

}  // namespace

Result<EnvFile> parse_env_file(std::string_view bytes) {
  if (bytes.size() > kMaxEnvFileBytes) {
    return refuse(codes::kConfigInvalidSetting, "the env file is larger than 1 MiB");
  }
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  EnvFile file;
  std::size_t number = 0;
  for (std::string_view text : split(bytes, '\n')) {
    ++number;
    if (text.ends_with('\r')) text.remove_suffix(1);
    Line line(text, number);
    if (!is_utf8(text) || has_control_characters(text)) {
      return line.refused("holds a control character or bytes that are not UTF-8");
    }
    if (trimmed(text).empty() || trimmed(text).starts_with('#')) continue;
    RB_TRY(auto name, line.name());
    RB_TRY(auto value, line.value());
    const auto [entry, added] = file.try_emplace(std::move(name), EnvValue{std::move(value), number});
    if (!added) {
      return line.refused(entry->first + " was already set on line " + std::to_string(entry->second.line));
    }
  }
  return file;
}

}  // namespace repobridge::policy
