#include "bridge/git/local_config.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_alpha(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_key_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// A file read character by character, the way git does it: CRLF is one line feed, and the end of the file is
// a line feed too.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {}

  char next() {
    if (at_ >= text_.size()) {
      ended_ = true;
      return '\n';
    }
    const char c = text_[at_++];
    if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') {
      ++at_;
      return '\n';
    }
    return c;
  }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : characters_(text) {}

  // False where git would stop with an error.
  bool run(std::vector<ConfigEntry>& entries) {
    bool comment = false;
    for (;;) {
      const char c = characters_.next();
      if (c == '\n') {
        if (characters_.ended()) return true;
        comment = false;
      } else if (comment || is_space(c)) {
        continue;
      } else if (c == '#' || c == ';') {
        comment = true;
      } else if (c == '[') {
        if (!read_section()) return false;
      } else if (!is_alpha(c) || section_.empty() || !read_entry(c, entries)) {
        return false;
      }
    }
  }

  [[nodiscard]] std::size_t position() const { return characters_.position(); }

 private:
  bool read_section() {
    section_.clear();
    for (;;) {
      const char c = characters_.next();
      if (characters_.ended()) return false;
      if (c == ']') return !section_.empty();
      if (is_space(c)) return !section_.empty() && read_subsection(c);
      if (!is_key_character(c) && c != '.') return false;
      section_ += policy::lower_ascii(c);
    }
  }

  bool read_subsection(char c) {
    do {
      if (c == '\n') return false;
      c = characters_.next();
    } while (is_space(c));
    if (c != '"') return false;
    section_ += '.';
    for (;;) {
      c = characters_.next();
      if (c == '"') break;
      if (c == '\\') c = characters_.next();
      if (c == '\n') return false;
      section_ += c;
    }
    return characters_.next() == ']';
  }

  bool read_entry(char first, std::vector<ConfigEntry>& entries) {
    ConfigEntry entry{.key = section_ + "." + policy::lower_ascii(first)};
    char c = characters_.next();
    for (; !characters_.ended() && is_key_character(c); c = characters_.next()) {
      entry.key += policy::lower_ascii(c);
    }
    while (c == ' ' || c == '\t') c = characters_.next();
    if (c == '=') {
      entry.value.emplace();
      if (!read_value(*entry.value)) return false;
    } else if (c != '\n') {
      return false;
    }
    entries.push_back(std::move(entry));
    return true;
  }

  bool read_value(std::string& value) {
    bool quoted = false;
    bool comment = false;
    std::size_t spaces = 0;
    for (;;) {
      char c = characters_.next();
      if (c == '\n') return !quoted;
      if (comment) continue;
      if (!quoted && is_space(c)) {
        if (!value.empty()) ++spaces;
        continue;
      }
      if (!quoted && (c == ';' || c == '#')) {
        comment = true;
        continue;
      }
      value.append(std::exchange(spaces, 0), ' ');
      if (c == '"') {
        quoted = !quoted;
      } else if (c != '\\') {
        value += c;
      } else if (!read_escape(value)) {
        return false;
      }
    }
  }

  bool read_escape(std::string& value) {
    switch (characters_.next()) {
      case '\n':
        return true;
      case 't':
        value += '\t';
        return true;
      case 'b':
        value += '\b';
        return true;
      case 'n':
        value += '\n';
        return true;
      case '\\':
        value += '\\';
        return true;
      case '"':
        value += '"';
        return true;
      default:
        return false;
    }
  }

  Characters characters_;
  std::string section_;
};

}  // namespace

Result<LocalConfig> LocalConfig::parse(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  LocalConfig config;
  Parser parser(text);
  const bool has_nul = text.find('\0') != std::string_view::npos;
  if (has_nul || !parser.run(config.entries_)) {
    return policy::refuse(
        policy::codes::kConfigInvalid,
        "the repository's configuration is not valid; `git config --list` in it says where");
  }
  return config;
}

void LocalConfig::append(LocalConfig later) {
  entries_.insert(entries_.end(), std::make_move_iterator(later.entries_.begin()),
                  std::make_move_iterator(later.entries_.end()));
}

bool LocalConfig::has(std::string_view key) const {
  return std::ranges::find(entries_, key, &ConfigEntry::key) != entries_.end();
}

std::optional<std::string> LocalConfig::last(std::string_view key) const {
  std::optional<std::string> found;
  for (const auto& entry : entries_) {
    if (entry.key == key) found = entry.value.value_or("true");
  }
  return found;
}

std::vector<std::string> LocalConfig::all(std::string_view key) const {
  std::vector<std::string> found;
  for (const auto& entry : entries_) {
    if (entry.key == key && entry.value) found.push_back(*entry.value);
  }
  return found;
}

bool LocalConfig::is_true(std::string_view key) const {
  bool value = false;
  for (const auto& entry : entries_) {
    // What is no boolean counts as true: the keys we ask for are those that must not be set.
    if (entry.key == key) value = parse_config_bool(entry.value).value_or(true);
  }
  return value;
}

std::optional<bool> parse_config_bool(const std::optional<std::string>& value) {
  if (!value) return true;
  const auto lowered = policy::lower_ascii(*value);
  if (lowered == "true" || lowered == "yes" || lowered == "on") return true;
  if (lowered == "false" || lowered == "no" || lowered == "off" || lowered.empty()) return false;
  int number = 0;
  const auto parsed = std::from_chars(lowered.data(), lowered.data() + lowered.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != lowered.data() + lowered.size()) return std::nullopt;
  return number != 0;
}

std::string quoted_config_value(std::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    switch (c) {
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      case '\b':
        quoted += "\\b";
        break;
      case '"':
      case '\\':
        quoted += '\\';
        [[fallthrough]];
      default:
        quoted += c;
    }
  }
  return quoted + "\"";
}

std::string config_text(const ConfigEntry& entry) {
  const auto section_end = entry.key.find('.');
  const auto name = entry.key.rfind('.') + 1;
  std::string text = "[" + entry.key.substr(0, section_end);
  if (section_end + 1 < name) {
    text += " \"";
    for (const char c : entry.key.substr(section_end + 1, name - section_end - 2)) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  text += "]\n\t" + entry.key.substr(name);
  if (entry.value) text += " = " + quoted_config_value(*entry.value);
  return text + "\n";
}

}  // namespace repobridge::git
