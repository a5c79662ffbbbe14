#include "platform/deadline.h"

#include <gtest/gtest.h>

namespace repobridge::platform {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, HasPassedWhenNoTimeWasGiven) {
  const auto deadline = Deadline::after(0ms);

  EXPECT_TRUE(deadline.passed());
  EXPECT_EQ(deadline.left(), 0ms);
}

TEST(Deadline, NeverHasLessThanNothingLeft) {
  const auto deadline = Deadline::after(-1h);

  EXPECT_TRUE(deadline.passed());
  EXPECT_EQ(deadline.left(), 0ms);
}

TEST(Deadline, CountsFromWhenItWasMade) {
  const auto before = Deadline::Clock::now();

  const auto deadline = Deadline::after(1h);

  EXPECT_FALSE(deadline.passed());
  EXPECT_GE(deadline.at(), before + 1h);
  EXPECT_LE(deadline.at(), Deadline::Clock::now() + 1h);
  EXPECT_LE(deadline.left(), 1h);
  EXPECT_GT(deadline.left(), 59min);
}

}  // namespace
}  // namespace repobridge::platform
