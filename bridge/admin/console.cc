#include "bridge/admin/console.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "platform/files.h"
#include "policy/json.h"
#include "policy/repo_path.h"
#include "policy/text.h"

namespace repobridge::admin {
namespace {

// Code points by which text rearranges or hides what stands around it, and the C1 controls.
bool deceives(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

// In well-formed UTF-8.
std::size_t length_of_first(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  return first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
}

// Of well-formed UTF-8, which it consumes.
char32_t next_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = length_of_first(text);
  char32_t value = length == 1 ? first : first & (0x7FU >> length);
  for (const char c : text.substr(1, length - 1))
    value = (value << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  text.remove_prefix(length);
  return value;
}

bool harmless(std::string_view text) {
  if (!policy::is_utf8(text)) return false;
  while (!text.empty()) {
    if (deceives(next_code_point(text))) return false;
  }
  return true;
}

std::string escaped(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    text.append("\\x").append(1, kDigits[value >> 4U]).append(1, kDigits[value & 0xFU]);
  }
  return text;
}

// Characters, near enough to columns for the names that stand in tables.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Stream stream_of(int fd) {
  const bool terminal = ::isatty(fd) == 1;
  const char* no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
  return {.terminal = terminal, .colour = terminal && (no_colour == nullptr || *no_colour == '\0')};
}

}  // namespace

Console Console::of_this_process() {
  return {.out = stream_of(STDOUT_FILENO), .err = stream_of(STDERR_FILENO)};
}

std::string shown(std::string_view text) {
  return harmless(text) ? std::string(text) : policy::c_quoted(text);
}

std::string shown_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const auto good = policy::utf8_prefix(text);
    for (std::string_view rest = good; !rest.empty();) {
      const std::string_view character = rest.substr(0, length_of_first(rest));
      const char32_t code_point = next_code_point(rest);
      const bool plain = code_point == U'\n' || code_point == U'\t' || !deceives(code_point);
      lines += plain ? std::string(character) : escaped(character);
    }
    text.remove_prefix(good.size());
    if (text.empty()) break;
    lines += escaped(text.substr(0, 1));
    text.remove_prefix(1);
  }
  return lines;
}

std::string bold(const Stream& stream, std::string_view text) {
  return stream.colour ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::string refusal_line(const Stream& stream, std::string_view command, const Error& error) {
  std::string line = bold(stream, command) + ": " + shown(error.message);
  if (error.details != nullptr && error.details->is_object()) {
    const auto path = error.details->find("path");
    if (path != error.details->end() && path->is_string()) {
      line += ": '" + shown(path->get<std::string>()) + "'";
    }
  }
  return line + " [" + error.code + "]\n";
}

std::string table(const std::vector<std::vector<std::string>>& rows, const Stream& stream) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const bool last = i + 1 == rows[r].size();
      line += rows[r][i] + std::string(last ? 0 : widths[i] - width_of(rows[r][i]) + 2, ' ');
    }
    text += (r == 0 ? bold(stream, line) : line) + "\n";
  }
  return text;
}

Result<bool> ask(std::string_view question) {
  if (::isatty(STDIN_FILENO) != 1) {
    return policy::refuse(policy::codes::kInvalidArgument,
                          "this asks first, and the input is no terminal; --yes answers beforehand");
  }
  RB_CHECK(write_out(std::string(question) + " [y/N] "));
  std::string answer;
  if (!std::getline(std::cin, answer)) RB_CHECK(write_out("\n"));
  return answer == "y" || answer == "yes";
}

Result<void> write_out(std::string_view text) { return platform::write_all(STDOUT_FILENO, text); }
// Nobody is left to be told that telling failed.
void write_err(std::string_view text) { (void)platform::write_all(STDERR_FILENO, text); }

}  // namespace repobridge::admin
