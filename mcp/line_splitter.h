// Bytes as they come become lines, each within the limit.
//
// Promise: holds at most one line's limit, whatever is fed: the rest of a line that is too long is dropped
// byte by byte up to its end and reported once. A line ends with LF; one CR before it, a byte order mark
// before the first line and blank lines are passed over. Source: MCP "Transports", stdio.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace repobridge::mcp {

struct Line {
  std::string text;
  bool too_long = false;  // then without its text
};

class LineSplitter {
 public:
  using Take = std::function<void(Line)>;

  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  void feed(std::string_view bytes, const Take& take);
  // The stream has ended: what stands without a line's end is a line too.
  void finish(const Take& take);

 private:
  void add(std::string_view part);
  void end_line(const Take& take);

  std::size_t max_line_bytes_;
  std::string line_;
  bool too_long_ = false;
  bool first_ = true;
};

}  // namespace repobridge::mcp
