#include "bridge/admin/roots.h"

#include "scratch.h"

namespace repobridge::admin {
namespace {

using RootsTest = Scratch;

policy::WorkdirSettings workdir(const std::string& slot, const std::string& path) {
  return {.slot = slot, .alias = "a", .path = path};
}

std::string refusal_of(const std::vector<policy::WorkdirSettings>& workdirs) {
  const auto roots = Roots::of(workdirs);
  return roots ? "" : roots.error().message;
}

TEST_F(RootsTest, AreNeitherEqualNorNestedInEitherOrder) {
  directory("a");
  directory("a/b");
  directory("ab");

  EXPECT_EQ(refusal_of({workdir("WORKDIR_01_", at("a")), workdir("WORKDIR_02_", at("ab"))}), "");
  for (const auto& [first, second] : {std::pair("a", "a/b"), std::pair("a/b", "a"), std::pair("a", "a")}) {
    EXPECT_NE(refusal_of({workdir("WORKDIR_01_", at(first)), workdir("WORKDIR_02_", at(second))}), "")
        << first << " " << second;
  }
}

TEST_F(RootsTest, SayWhichVariableLiesInWhich) {
  directory("a");
  directory("a/b");

  EXPECT_EQ(refusal_of({workdir("WORKDIR_01_", at("a")), workdir("WORKDIR_02_", at("a/b"))}),
            "WORKDIR_02_PATH is, or lies inside, the workdir of WORKDIR_01_PATH; one file must belong to one "
            "workdir");
}

TEST_F(RootsTest, AreComparedBehindLinks) {
  directory("a");
  directory("a/b");
  link("other", "a/b");

  EXPECT_NE(refusal_of({workdir("WORKDIR_01_", at("a")), workdir("WORKDIR_02_", at("other"))}), "");
}

TEST_F(RootsTest, AreExistingDirectories) {
  EXPECT_EQ(refusal_of({workdir("WORKDIR_01_", at("missing"))}),
            "WORKDIR_01_PATH cannot be used: resolve a path: No such file or directory");
  EXPECT_EQ(refusal_of({workdir("WORKDIR_01_", file("f", ""))}), "WORKDIR_01_PATH is not a directory");
}

TEST_F(RootsTest, HoldWhatLiesInThemAndWhatWillLieInThem) {
  directory("a");
  const auto roots = Roots::of({workdir("WORKDIR_01_", at("a"))});
  ASSERT_TRUE(roots);
  const Root* root = &roots->of_slot("WORKDIR_01_");

  EXPECT_EQ(roots->holding(at("a")).value_or(nullptr), root);
  EXPECT_EQ(roots->holding(at("a/x/y")).value_or(nullptr), root);
  EXPECT_EQ(roots->holding(at("ab")).value_or(root), nullptr);
  EXPECT_EQ(roots->holding("/").value_or(root), nullptr);
}

TEST_F(RootsTest, OfTheWholeDiskHoldEverything) {
  const auto roots = Roots::of({workdir("WORKDIR_01_", "/")});
  ASSERT_TRUE(roots);

  EXPECT_NE(roots->holding(at("x")).value_or(nullptr), nullptr);
}

}  // namespace
}  // namespace repobridge::admin
