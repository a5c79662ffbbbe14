#include "mcp/legacy_sessions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace repobridge::mcp {
namespace {

class Sessions : public testing::Test {
 protected:
  CancelCall count() {
    return [this] { ++cancels; };
  }

  LegacySessions sessions;
  std::string id = *sessions.new_id("ann");
  int cancels = 0;
};

TEST_F(Sessions, HaveNamesOfVisibleAsciiThatNobodyHadBefore) {
  EXPECT_TRUE(std::ranges::all_of(id, [](char c) { return c > ' ' && c < 0x7F; })) << id;
  EXPECT_NE(sessions.new_id("ann"), id);
}

TEST_F(Sessions, CancelACallUnderItsIdAsTypedWhileItHasItsPlace) {
  auto place = sessions.place_for("ann", id, 1);
  ASSERT_NE(place, nullptr);
  place->set(count());
  sessions.cancel("ann", id, "1");
  EXPECT_EQ(cancels, 0);
  sessions.cancel("ann", id, 1);
  EXPECT_EQ(cancels, 1);
  place.reset();
  sessions.cancel("ann", id, 1);
  EXPECT_EQ(cancels, 1);
}

TEST_F(Sessions, CancelAllThatCameUnderOneId) {
  const auto one = sessions.place_for("ann", id, 1);
  const auto other = sessions.place_for("ann", id, 1);
  one->set(count());
  other->set(count());
  sessions.cancel("ann", id, 1);
  EXPECT_EQ(cancels, 2);
}

TEST_F(Sessions, AreOfUseToTheirCallerAlone) {
  const auto place = sessions.place_for("ann", id, 1);
  place->set(count());
  sessions.cancel("bob", id, 1);
  sessions.cancel("ann", sessions.new_id("ann"), 1);
  sessions.cancel("ann", std::nullopt, 1);
  EXPECT_EQ(cancels, 0);
}

TEST_F(Sessions, HaveNoPlaceUnderNamesThatAreNotTheirs) {
  const LegacySessions of_another_run;
  for (const auto& name : {std::string(), std::string("."), std::string("made-up"), id.substr(1), id + "0",
                           *of_another_run.new_id("ann"), *sessions.new_id("bob")}) {
    EXPECT_EQ(sessions.place_for("ann", name, 1), nullptr) << name;
  }
  EXPECT_EQ(sessions.place_for("ann", std::nullopt, 1), nullptr);
}

TEST_F(Sessions, MayEndBeforeTheirCalls) {
  auto gone = std::make_unique<LegacySessions>();
  auto place = gone->place_for("ann", gone->new_id("ann"), 1);
  // A cancel that holds its own place, as those of real calls do.
  place->set([place] {});
  gone.reset();
}

}  // namespace
}  // namespace repobridge::mcp
