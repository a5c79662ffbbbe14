// What an administrator can write in the env file and must not be able to get half right.
#include <gtest/gtest.h>

#include "policy/actions.h"
#include "policy/env_file.h"
#include "policy/repo_path.h"
#include "policy/settings.h"

namespace repobridge::policy {
namespace {

std::string refusal_of(std::string_view env) {
  const auto file = parse_env_file(env);
  if (!file) return file.error().message;
  const auto settings = read_settings(*file);
  return settings ? "" : settings.error().message;
}

TEST(ConfigDialect, RefusesAQuoteInsideABareValue) {
  EXPECT_EQ(refusal_of("WORKDIR_01_DESCRIPTION=the team's tools\n"),
            "line 1: a value that holds a quote must itself be quoted");
  EXPECT_EQ(refusal_of("WORKDIR_01_PATH=/srv/\"a b\"\n"),
            "line 1: a value that holds a quote must itself be quoted");
}

TEST(ConfigDialect, TakesAQuoteInsideACommentAndInJson) {
  const auto file = parse_env_file("A=/srv/a # the team's\nB={\"a\": 1}\nC=x\t# it's a tab\n");

  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->find("A")->second.text, "/srv/a");
  EXPECT_EQ(file->find("B")->second.text, "{\"a\": 1}");
  EXPECT_EQ(file->find("C")->second.text, "x");
}

TEST(ConfigDialect, KeepsAHashThatNoBlankPrecedes) {
  const auto file = parse_env_file("A=/srv/a#1\n");

  ASSERT_TRUE(file);
  EXPECT_EQ(file->find("A")->second.text, "/srv/a#1");
}

TEST(ConfigDialect, RefusesAnUnknownEmptyNameInASlotThatIsUsed) {
  const std::string used = "WORKDIR_01_ALIAS=a\nWORKDIR_01_PATH=/srv/a\n";

  EXPECT_NE(refusal_of(used + "WORKDIR_01_RAED_ONLY=\n").find("WORKDIR_01_RAED_ONLY"), std::string::npos);
  EXPECT_EQ(refusal_of(used + "WORKDIR_02_ALIAS=\nWORKDIR_02_PATH=\n"), "");
}

TEST(ConfigDialect, SaysThatAPathIsMissing) {
  EXPECT_EQ(refusal_of("WORKDIR_01_ALIAS=a\n"), "WORKDIR_01_PATH is missing");
}

TEST(ConfigDialect, RefusesOneFilePinnedUnderTwoSpellings) {
  const std::string digest(64, 'a');
  const auto text = R"({"check":{"argv":["true"],"mutates":false,"integrity":{"a":")" + digest +
                    R"(","\"a\"":")" + digest + "\"}}}";

  const auto actions = parse_actions(text, "WORKDIR_01_REPO_ACTIONS_JSON", Digests::required);

  ASSERT_FALSE(actions);
  EXPECT_EQ(actions.error().message, "WORKDIR_01_REPO_ACTIONS_JSON: 'check.integrity' names one file twice");
}

TEST(ConfigDialect, NamesTheJsonPathOfALongActionName) {
  const std::string name(64, 'n');

  const auto actions = parse_actions("{\"" + name + "\":{\"argv\":[\"true\"],\"max_output_bytes\":0}}",
                                     "WORKDIR_01_REPO_ACTIONS_FILE", Digests::required);

  ASSERT_FALSE(actions);
  EXPECT_EQ(actions.error().message, "WORKDIR_01_REPO_ACTIONS_FILE: '" + name + ".mutates' is missing");
}

TEST(ConfigDialect, NamesTheElementOfAList) {
  EXPECT_EQ(quoted_name("workdirs[0].path"), "'workdirs[0].path'");
}

TEST(RepoPath, TakesABackslashForASeparatorWhenItLooksForGitsOwnData) {
  EXPECT_FALSE(RepoPath::parse("a\\.git\\config"));
  EXPECT_FALSE(RepoPath::parse(".GIT\\config"));
  EXPECT_FALSE(RepoPath::parse("a\\git~1"));
  EXPECT_TRUE(RepoPath::parse("a\\.gitignore"));
}

}  // namespace
}  // namespace repobridge::policy
