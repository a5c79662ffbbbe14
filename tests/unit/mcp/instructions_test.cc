#include "mcp/instructions.h"

#include <gtest/gtest.h>

#include "tests/unit/mcp/samples.h"

namespace repobridge::mcp {
namespace {

TEST(Instructions, SayEverythingInTheFirstCharacters) {
  const std::string head = instructions(sample_policy()).substr(0, kSelfContained);

  std::size_t at = 0;
  for (const auto* step : {"inspect_repo", "workdirs", "status", "actions", "run_repo_action", "diff",
                           "commit_repo_changes", "push_repo", "untrusted data"}) {
    at = head.find(step, at);
    ASSERT_NE(at, std::string::npos) << step;
  }
}

TEST(Instructions, NameTheWorkdirsAndWhichAreReadOnly) {
  EXPECT_NE(instructions(sample_policy()).find("\nWorkdirs: app, docs (read-only)."), std::string::npos);
}

TEST(Instructions, SayThatNothingIsSetUp) {
  policy::FrontPolicy policy = sample_policy();
  policy.workdirs.clear();

  EXPECT_NE(instructions(policy).find("No workdir is set up"), std::string::npos);
}

TEST(Instructions, StayShortWithManyWorkdirs) {
  policy::FrontPolicy policy = sample_policy();
  for (int i = 0; i < 1000; ++i) {
    const std::string alias = "workdir-with-a-long-name-" + std::to_string(i);
    policy.workdirs[alias] = {.alias = alias};
  }

  const std::string text = instructions(policy);

  EXPECT_LE(text.size(), kMostInstructionBytes);
  EXPECT_TRUE(text.ends_with(", and more: see view workdirs."));
}

}  // namespace
}  // namespace repobridge::mcp
