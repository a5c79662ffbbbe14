#include "mcp/line_splitter.h"

#include <utility>

namespace repobridge::mcp {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r";

}  // namespace

void LineSplitter::feed(std::string_view bytes, const Take& take) {
  for (;;) {
    const auto end = bytes.find('\n');
    add(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    end_line(take);
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::finish(const Take& take) { end_line(take); }

void LineSplitter::add(std::string_view part) {
  if (too_long_) return;
  // One byte more may yet turn out to be the CR of the line's end.
  if (line_.size() + part.size() <= max_line_bytes_ + 1) {
    line_.append(part);
    return;
  }
  too_long_ = true;
  line_ = std::string();  // gives the memory back
}

void LineSplitter::end_line(const Take& take) {
  if (line_.ends_with('\r')) line_.pop_back();
  if (std::exchange(first_, false) && line_.starts_with(kByteOrderMark))
    line_.erase(0, kByteOrderMark.size());
  const bool too_long = std::exchange(too_long_, false) || line_.size() > max_line_bytes_;
  std::string text = std::exchange(line_, {});
  if (too_long) {
    take(Line{.too_long = true});
  } else if (text.find_first_not_of(kBlank) != std::string::npos) {
    take(Line{.text = std::move(text)});
  }
}

}  // namespace repobridge::mcp
