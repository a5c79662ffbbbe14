#include "mcp/line_splitter.h"

#include <gtest/gtest.h>

#include <vector>

namespace repobridge::mcp {
namespace {

constexpr std::size_t kLimit = 16;

// The lines of a stream that comes in pieces; "!" stands for one that was too long.
std::vector<std::string> lines(const std::vector<std::string>& pieces) {
  std::vector<std::string> taken;
  const auto take = [&](const Line& line) { taken.push_back(line.too_long ? "!" : line.text); };
  LineSplitter splitter(kLimit);
  for (const auto& piece : pieces) splitter.feed(piece, take);
  splitter.finish(take);
  return taken;
}

using Lines = std::vector<std::string>;

TEST(LineSplitter, SplitsAtLineFeeds) { EXPECT_EQ(lines({"a\nb\n"}), (Lines{"a", "b"})); }

TEST(LineSplitter, JoinsWhatComesInPieces) {
  EXPECT_EQ(lines({"a", "b", "", "c\nd", "\n"}), (Lines{"abc", "d"}));
}

TEST(LineSplitter, TakesALastLineWithoutItsEnd) { EXPECT_EQ(lines({"a\nb"}), (Lines{"a", "b"})); }

TEST(LineSplitter, PassesOverOneTrailingCarriageReturn) {
  EXPECT_EQ(lines({"a\r\nb\r", "\nc\r\r\n"}), (Lines{"a", "b", "c\r"}));
}

TEST(LineSplitter, PassesOverBlankLines) { EXPECT_EQ(lines({"\n\r\n  \t\na\n\n"}), (Lines{"a"})); }

TEST(LineSplitter, PassesOverAByteOrderMarkAtTheBeginningOnly) {
  EXPECT_EQ(lines({"\xEF\xBB",
                   "\xBF"
                   "a\n\xEF\xBB\xBF"
                   "b\n"}),
            (Lines{"a",
                   "\xEF\xBB\xBF"
                   "b"}));
}

TEST(LineSplitter, TakesALineOfExactlyTheLimit) {
  EXPECT_EQ(lines({std::string(kLimit, 'x') + "\n"}), (Lines{std::string(kLimit, 'x')}));
  EXPECT_EQ(lines({std::string(kLimit, 'x') + "\r\n"}), (Lines{std::string(kLimit, 'x')}));
}

TEST(LineSplitter, ReportsALongerLineOnceAndGoesOnAfterIt) {
  EXPECT_EQ(lines({std::string(kLimit + 1, 'x') + "\na\n"}), (Lines{"!", "a"}));
  EXPECT_EQ(lines({std::string(kLimit, 'x'), "x", std::string(100, 'x'), "x\na\n"}), (Lines{"!", "a"}));
  EXPECT_EQ(lines({std::string(kLimit + 5, 'x')}), (Lines{"!"}));
}

TEST(LineSplitter, DropsTheRestOfALongLineEvenWhenItIsBlank) {
  EXPECT_EQ(lines({std::string(kLimit + 2, 'x'), "   \n", "b\n"}), (Lines{"!", "b"}));
}

}  // namespace
}  // namespace repobridge::mcp
