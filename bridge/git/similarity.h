// How alike two files are, by the measure that git's rename detection uses, so that what is a rename to git
// is one here, with the same percentage.
//
// A file is cut into spans: lines, and pieces of 64 bytes of lines that are longer. What both files have of a
// span, wherever it stands, is what was kept. Source: git's diffcore-delta.c and diffcore-rename.c (2.44 or
// later: the last line counts without its newline too).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace repobridge::git {

class Spans {
 public:
  static Spans of(std::string_view bytes);

  // In git's units, of which the whole is kMostSimilar; 0 for sizes too far apart to reach half of it.
  static constexpr std::uint64_t kMostSimilar = 60000;
  [[nodiscard]] std::uint64_t similarity(const Spans& other) const;

 private:
  struct Span {
    std::uint32_t hash = 0;
    std::uint64_t bytes = 0;  // all spans of this hash together
  };
  std::vector<Span> spans_;  // by hash
  std::uint64_t size_ = 0;
};

}  // namespace repobridge::git
