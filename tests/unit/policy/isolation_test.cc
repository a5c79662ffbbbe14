#include "policy/isolation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/actions.h"
#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::argument_of;
using tests::code_of;
using tests::value_of;

Result<Actions> with(const Json& fields) {
  Json action{{"argv", {"python3"}}, {"mutates", false}, {"integrity", {{"check.py", std::string(64, 'a')}}}};
  action.update(fields);
  return actions_from_json(Json{{"check", action}}, "ACTIONS", Digests::required);
}

void expect_refused(const Json& fields, const std::string& field) {
  const auto actions = with(fields);
  EXPECT_EQ(code_of(actions), "CONFIG_INVALID") << fields;
  EXPECT_EQ(argument_of(actions), "check." + field) << fields;
}

TEST(Isolation, IsTheNarrowestUnlessSaid) {
  const auto actions = value_of(with(Json::object()));
  const auto& isolation = actions.at("check").isolation;

  EXPECT_FALSE(isolation.network);
  EXPECT_TRUE(isolation.private_home);
  EXPECT_TRUE(isolation.home_read.empty());
  EXPECT_TRUE(isolation.required);
}

TEST(Isolation, HoldsWhatIsSaid) {
  const auto actions = value_of(
      with({{"network", "host"}, {"home_read", {".cache/uv", "src"}}, {"isolation", "best_effort"}}));
  const auto& isolation = actions.at("check").isolation;

  EXPECT_TRUE(isolation.network);
  EXPECT_TRUE(isolation.private_home);
  EXPECT_EQ(isolation.home_read, (std::vector<std::string>{".cache/uv", "src"}));
  EXPECT_FALSE(isolation.required);
  EXPECT_FALSE(value_of(with({{"home", "user"}})).at("check").isolation.private_home);
}

TEST(Isolation, IsReadBackAsItWasWritten) {
  for (const auto& fields : {Json{{"network", "host"}, {"home", "user"}},
                             Json{{"home_read", {".gitconfig"}}, {"isolation", "best_effort"}}}) {
    const auto written = to_json(value_of(with(fields)));

    EXPECT_EQ(to_json(value_of(actions_from_json(written, "ACTIONS", Digests::required))), written);
  }
}

TEST(Isolation, KnowsNoOtherWords) {
  expect_refused({{"network", "all"}}, "network");
  expect_refused({{"network", true}}, "network");
  expect_refused({{"home", "none"}}, "home");
  expect_refused({{"isolation", "off"}}, "isolation");
  expect_refused({{"home_read", ".cache"}}, "home_read");
}

TEST(Isolation, ReadsOnlyBelowTheHome) {
  for (const auto* place : {"/etc", "..", "a/../b", "./a", "", "~/a", "a//b", "a/"}) {
    expect_refused({{"home_read", {place}}}, "home_read");
  }
  expect_refused({{"home_read", std::vector<std::string>(kMaxHomeRead + 1, "a")}}, "home_read");
}

TEST(Isolation, ReadsNoCredentials) {
  for (const auto* place :
       {".ssh", ".ssh/config", ".config/gh", ".netrc", "work/id_rsa", "a/.aws/x", ".config/repobridge"}) {
    expect_refused({{"home_read", {place}}}, "home_read");
  }
  for (const auto place : credential_places())
    expect_refused({{"home_read", {std::string(place)}}}, "home_read");
}

TEST(Isolation, SaysNothingTwice) { expect_refused({{"home", "user"}, {"home_read", {"a"}}}, "home_read"); }

TEST(Isolation, NamesPlacesBelowAHomeAndPlacesOfTheMachine) {
  EXPECT_TRUE(std::ranges::none_of(credential_places(), [](auto place) { return place.starts_with('/'); }));
  EXPECT_TRUE(std::ranges::all_of(system_secrets(), [](auto place) { return place.starts_with('/'); }));
}

}  // namespace
}  // namespace repobridge::policy
