#include "policy/call_rate.h"

#include <gtest/gtest.h>

namespace repobridge::policy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const CallRate::Clock::time_point kStart{seconds(1000)};

TEST(CallRate, LetsAMinutesWorthThroughAndThenSaysHowLongToWait) {
  CallRate rate(60);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(rate.take("a", kStart).count(), 0) << i;

  EXPECT_EQ(rate.take("a", kStart), seconds(1));
  EXPECT_EQ(rate.take("a", kStart + milliseconds(400)), milliseconds(600));
  EXPECT_EQ(rate.take("a", kStart + milliseconds(1001)).count(), 0);
  EXPECT_GT(rate.take("a", kStart + milliseconds(1002)).count(), 0);
}

TEST(CallRate, KeepsEachOnesOwn) {
  CallRate rate(1);

  EXPECT_EQ(rate.take("a", kStart).count(), 0);
  EXPECT_EQ(rate.take("b", kStart).count(), 0);
  EXPECT_EQ(rate.take("a", kStart), seconds(60));
}

TEST(CallRate, SavesNoMoreThanAMinutesWorth) {
  CallRate rate(2);
  EXPECT_EQ(rate.take("a", kStart).count(), 0);
  const auto later = kStart + std::chrono::hours(24);

  EXPECT_EQ(rate.take("a", later).count(), 0);
  EXPECT_EQ(rate.take("a", later).count(), 0);
  EXPECT_EQ(rate.take("a", later), seconds(30));
}

TEST(CallRate, RefusesNewOnesWhileTooManyAreKnownAndForgetsThoseThatWentQuiet) {
  CallRate rate(1);
  for (std::size_t i = 0; i < CallRate::kMostBuckets; ++i) {
    EXPECT_EQ(rate.take(std::to_string(i), kStart).count(), 0);
  }

  EXPECT_EQ(rate.take("one more", kStart), seconds(60));
  EXPECT_EQ(rate.take("one more", kStart + seconds(61)).count(), 0);
}

}  // namespace
}  // namespace repobridge::policy
