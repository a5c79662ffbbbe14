#include "platform/random.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/results.h"

namespace repobridge::platform {
namespace {

using tests::value_of;

void check_random_bytes(const std::vector<std::size_t>& cases) {
  for (const auto& param : cases) {
    EXPECT_EQ(value_of(random_bytes(param)).size(), param);
  }
}

// getrandom(2) gives at most 256 at once.
TEST(RandomBytes, AreAsManyAsAskedAroundTheLimitOfOneCall) {
  check_random_bytes({0, 1, 32, 255, 256, 257, 512, 1000});
}

TEST(RandomBytes, FillTheLastByteToo) {
  std::set<char> last;

  for (int i = 0; i < 64; ++i) last.insert(value_of(random_bytes(257)).back());

  EXPECT_GT(last.size(), 1U);
}

TEST(RandomBytes, AreNotDrawnTwice) {
  std::set<std::string> drawn;

  for (int i = 0; i < 1000; ++i) drawn.insert(value_of(random_bytes(16)));

  EXPECT_EQ(drawn.size(), 1000U);
}

TEST(RandomHex, HasTwoLowerCaseDigitsForAByte) {
  const auto hex = value_of(random_hex(512));

  EXPECT_EQ(hex.size(), 1024U);
  EXPECT_EQ(hex.find_first_not_of("0123456789abcdef"), std::string::npos);
  for (const char digit : std::string("0123456789abcdef")) EXPECT_NE(hex.find(digit), std::string::npos);
}

TEST(HexOf, WritesEveryByteAsTwoDigits) {
  EXPECT_EQ(hex_of(std::string_view("\x00\x01\x7f\x80\xff", 5)), "00017f80ff");
  EXPECT_EQ(hex_of(""), "");
}

}  // namespace
}  // namespace repobridge::platform
