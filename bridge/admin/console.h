// What the administrator sees: text on stdout, refusals on stderr.
//
// Promise: no control character, bidirectional override or broken UTF-8 of a file name reaches a terminal.
// Colour only where the stream is a terminal and NO_COLOR is unset or empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"

namespace repobridge::admin {

struct Stream {
  bool terminal = false;
  bool colour = false;
};

struct Console {
  Stream out;
  Stream err;
  static Console of_this_process();
};

// The text itself when it is harmless to show, else in git's C-quoted form.
std::string shown(std::string_view text);

// Many lines of a program's output: what would move the cursor, colour or deceive stands as an escape.
std::string shown_lines(std::string_view text);

std::string bold(const Stream& stream, std::string_view text);

// One line: the command, what is refused and why, and its code.
std::string refusal_line(const Stream& stream, std::string_view command, const Error& error);

// Columns padded to their widest cell, which holds no control character.
std::string table(const std::vector<std::vector<std::string>>& rows, const Stream& stream);

// Asks on the terminal; anything but yes is no. An input that is no terminal is a refusal (INVALID_ARGUMENT).
Result<bool> ask(std::string_view question);

Result<void> write_out(std::string_view text);
void write_err(std::string_view text);

}  // namespace repobridge::admin
