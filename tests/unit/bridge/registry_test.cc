#include "bridge/runs/registry.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "bridge/runs/run_json.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::runs {
namespace {

using policy::Json;

std::string id_of(int number) {
  std::string digits = std::to_string(number);
  return std::string(32 - digits.size(), '0') + digits;
}

class RunRegistry : public ::testing::Test {
 protected:
  Registry open() {
    auto registry = Registry::open(directory(), limits, [this] { return now; });
    EXPECT_TRUE(registry.has_value());
    return *std::move(registry);
  }
  [[nodiscard]] std::string directory() const { return place.path() + "/runs"; }

  static RunFacts facts(int number, const std::string& caller = "ann") {
    return {.id = id_of(number),
            .owner = {.front = "front", .caller = caller},
            .workdir = "app",
            .root = "/srv/app",
            .tool = "run_repo_action",
            .action = "check",
            .since = "2026-01-01T00:00:" + std::to_string(10 + number % 50) + "Z"};
  }

  static wire::Outcome answer(std::size_t bytes) {
    return {.is_error = false, .body = Json{{"data", {{"run_id", "x"}, {"text", std::string(bytes, 'x')}}}}};
  }

  static void run_through(Registry& registry, int number, std::size_t bytes = 10) {
    const auto run = registry.admit(facts(number));
    ASSERT_TRUE(run.has_value());
    registry.started(*run);
    registry.ended(*run, answer(bytes));
  }

  [[nodiscard]] std::size_t files() const {
    using Iterator = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Iterator(directory()), Iterator()));
  }

  tests::TemporaryDirectory place;
  policy::RunLimits limits;
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
};

TEST_F(RunRegistry, FindsARunForItsOwnerAloneInItsWorkdirAlone) {
  auto registry = open();
  const auto run = registry.admit(facts(1));
  registry.started(*run);
  const RunOwner ann{.front = "front", .caller = "ann"};

  EXPECT_EQ(registry.find(ann, "app", "/srv/app", id_of(1)).value(), run.value());
  EXPECT_EQ(registry.find(ann, "app", "/srv/app", std::nullopt).value(), run.value());
  for (const auto& [owner, workdir, root, id] : {
           std::tuple{RunOwner{.front = "front", .caller = "bob"}, "app", "/srv/app", id_of(1)},
           std::tuple{RunOwner{.front = "other", .caller = "ann"}, "app", "/srv/app", id_of(1)},
           std::tuple{ann, "lib", "/srv/app", id_of(1)},
           std::tuple{ann, "app", "/srv/lib", id_of(1)},
           std::tuple{ann, "app", "/srv/app", id_of(2)},
       }) {
    const auto found = registry.find(owner, workdir, root, id);
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().code, "RUN_NOT_FOUND");
  }
}

// A call that waits for the workdir may still be refused, and then never was a run.
TEST_F(RunRegistry, FindsNoneThatHasNotStarted) {
  auto registry = open();
  run_through(registry, 1);
  const auto waiting = registry.admit(facts(2));
  const RunOwner ann{.front = "front", .caller = "ann"};

  EXPECT_EQ(registry.find(ann, "app", "/srv/app", std::nullopt).value()->facts().id, id_of(1));
  EXPECT_EQ(registry.find(ann, "app", "/srv/app", id_of(2)).error().code, "RUN_NOT_FOUND");
  registry.started(*waiting);
  EXPECT_EQ(registry.find(ann, "app", "/srv/app", std::nullopt).value(), waiting.value());
}

TEST_F(RunRegistry, BoundsWhatIsAtWork) {
  limits.at_once = 3;
  limits.at_once_per_caller = 2;
  auto registry = open();
  const auto first = registry.admit(facts(1));
  const auto second = registry.admit(facts(2));
  ASSERT_TRUE(first && second);

  EXPECT_EQ(registry.admit(facts(3)).error().code, "TOO_MANY_RUNS");
  const auto third = registry.admit(facts(4, "bob"));
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(registry.admit(facts(5, "cid")).error().code, "TOO_MANY_RUNS");
  registry.withdraw(*third);
  registry.ended(*first, answer(1));
  EXPECT_TRUE(registry.admit(facts(6)).has_value());
}

TEST_F(RunRegistry, TellsWhenNothingIsAtWorkAnyMore) {
  auto registry = open();
  int told = 0;
  registry.on_idle([&] { ++told; });
  const auto first = registry.admit(facts(1));
  const auto second = registry.admit(facts(2));
  EXPECT_FALSE(registry.idle());

  registry.ended(*first, answer(1));
  EXPECT_EQ(told, 0);
  registry.withdraw(*second);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(registry.idle());
}

TEST_F(RunRegistry, KeepsTheLatestOnly) {
  auto registry = open();
  for (int i = 0; i < static_cast<int>(Registry::kMostKept) + 5; ++i) run_through(registry, i);

  EXPECT_EQ(registry.all().size(), Registry::kMostKept);
  EXPECT_EQ(files(), Registry::kMostKept);
  EXPECT_FALSE(registry.find_any(id_of(4)).has_value());
  EXPECT_TRUE(registry.find_any(id_of(5)).has_value());
}

TEST_F(RunRegistry, KeepsSoManyBytesOnly) {
  auto registry = open();
  constexpr std::size_t kHalf = Registry::kMostKeptBytes / 2;
  run_through(registry, 1, kHalf / 8);
  for (int i = 2; i < 18; ++i) run_through(registry, i, kHalf / 8);

  EXPECT_LT(registry.all().size(), 17U);
  EXPECT_FALSE(registry.find_any(id_of(1)).has_value());
  EXPECT_TRUE(registry.find_any(id_of(17)).has_value());
}

TEST_F(RunRegistry, KeepsThemForSoLongOnly) {
  {
    auto registry = open();
    run_through(registry, 1);
    now += Registry::kLongestKept;
    run_through(registry, 2);
    EXPECT_TRUE(registry.find_any(id_of(1)).has_value());
    now += std::chrono::seconds(2);
  }
  auto registry = open();

  EXPECT_FALSE(registry.find_any(id_of(1)).has_value());
  EXPECT_TRUE(registry.find_any(id_of(2)).has_value());
  EXPECT_EQ(files(), 1U);
}

TEST_F(RunRegistry, RemembersErrorsToo) {
  const Json body{{"error",
                   {{"status", 403},
                    {"kind", "forbidden"},
                    {"code", "REPO_PUSH_REJECTED"},
                    {"message", "no"},
                    {"details", {{"a", 1}}}}}};
  {
    auto registry = open();
    const auto run = registry.admit(facts(1));
    registry.started(*run);
    registry.ended(*run, {.is_error = true, .body = body});
  }
  const auto registry = open();
  const auto answered = ended_json(**registry.find_any(id_of(1)));

  ASSERT_FALSE(answered.has_value());
  EXPECT_EQ(answered.error().code, "REPO_PUSH_REJECTED");
  EXPECT_EQ(answered.error().message, "no");
  EXPECT_EQ(*answered.error().details, body["error"]["details"]);
}

TEST_F(RunRegistry, EndsWhatAnEarlierLifeLeftAtWork) {
  {
    auto registry = open();
    registry.started(*registry.admit(facts(1)));
    (void)registry.admit(facts(2));  // it had not begun
  }
  const auto registry = open();
  const auto answered = ended_json(**registry.find_any(id_of(1)));

  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ((*answered)["state"], "killed");
  EXPECT_EQ((*answered)["reason"], "bridge_restarted");
  EXPECT_FALSE(registry.find_any(id_of(2)).has_value());
  EXPECT_TRUE(registry.idle());
}

}  // namespace
}  // namespace repobridge::runs
