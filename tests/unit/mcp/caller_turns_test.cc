#include "mcp/caller_turns.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace repobridge::mcp {
namespace {

class CallerTurnsTest : public testing::Test {
 protected:
  std::shared_ptr<CallerTurns::Turn> take(const std::string& login, int name = 0) {
    return turns_->take(login, [this, name] { woken_.push_back(name); });
  }

  std::optional<CallerTurns> turns_{2};
  std::vector<int> woken_;
};

TEST_F(CallerTurnsTest, AsManyBeginAsMay) {
  const auto first = take("a");
  const auto second = take("a");
  const auto third = take("a");
  EXPECT_TRUE(first->begun());
  EXPECT_TRUE(second->begun());
  EXPECT_FALSE(third->begun());
  EXPECT_TRUE(woken_.empty());
}

TEST_F(CallerTurnsTest, TheOneThatWaitedLongestIsNext) {
  auto first = take("a");
  auto second = take("a");
  const auto third = take("a", 3);
  const auto fourth = take("a", 4);
  first.reset();
  EXPECT_TRUE(third->begun());
  EXPECT_FALSE(fourth->begun());
  EXPECT_FALSE(take("a")->begun());
  second.reset();
  EXPECT_TRUE(fourth->begun());
  EXPECT_EQ(woken_, (std::vector{3, 4}));
}

TEST_F(CallerTurnsTest, WhoLeavesTheLineHoldsNobodyUp) {
  auto first = take("a");
  const auto second = take("a");
  auto gone = take("a", 3);
  const auto fourth = take("a", 4);
  gone.reset();
  EXPECT_FALSE(fourth->begun());
  first.reset();
  EXPECT_TRUE(fourth->begun());
  EXPECT_EQ(woken_, std::vector{4});
}

TEST_F(CallerTurnsTest, NoCallerWaitsForAnother) {
  const std::vector flood{take("a"), take("a"), take("a"), take("a")};
  EXPECT_TRUE(take("b")->begun());
}

TEST_F(CallerTurnsTest, TurnsEndAfterWhatGaveThem) {
  auto first = take("a");
  const auto second = take("a");
  const auto third = take("a", 3);
  turns_.reset();
  first.reset();
  EXPECT_TRUE(third->begun());
}

}  // namespace
}  // namespace repobridge::mcp
