// What render asks of platform/files: trusted reading, planned paths, two files replaced together.
#include "scratch.h"

namespace repobridge::admin {
namespace {

using platform::StagedFile;

using TrustedFile = Scratch;
using PlannedPath = Scratch;
using Staged = Scratch;

std::string code_of(const Result<std::string>& result) { return result ? "" : result.error().code; }

TEST_F(TrustedFile, IsReadWhole) {
  const auto text = platform::read_trusted_file(file("f", "abc"), 3);

  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "abc");
}

TEST_F(TrustedFile, IsReadThroughALinkedDirectory) {
  directory("real");
  file("real/f", "abc");
  link("linked", "real");

  EXPECT_TRUE(platform::read_trusted_file(at("linked/f"), 10));
}

TEST_F(TrustedFile, IsNoLink) {
  file("f", "abc");

  EXPECT_EQ(code_of(platform::read_trusted_file(link("l", "f"), 10)), "FILE_UNTRUSTED");
}

TEST_F(TrustedFile, IsNotWritableByOthers) {
  EXPECT_EQ(code_of(platform::read_trusted_file(file("group", "", 0620), 10)), "FILE_UNTRUSTED");
  EXPECT_EQ(code_of(platform::read_trusted_file(file("all", "", 0602), 10)), "FILE_UNTRUSTED");
}

TEST_F(TrustedFile, IsNoFifoAndNoDirectory) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);

  EXPECT_EQ(code_of(platform::read_trusted_file(at("fifo"), 10)), "FILE_UNTRUSTED");
  EXPECT_EQ(code_of(platform::read_trusted_file(directory("d"), 10)), "FILE_UNTRUSTED");
}

TEST_F(TrustedFile, StandsInDirectoriesThatNobodyElseMayWrite) {
  directory("open", 0777);
  file("open/f", "abc");

  EXPECT_EQ(code_of(platform::read_trusted_file(at("open/f"), 10)), "DIRECTORY_UNSAFE");
}

TEST_F(TrustedFile, HasABound) {
  EXPECT_EQ(code_of(platform::read_trusted_file(file("f", "abcd"), 3)), "FILE_TOO_LARGE");
}

TEST_F(PlannedPath, ResolvesWhatExistsAndKeepsTheRest) {
  directory("real");
  link("linked", "real");

  EXPECT_EQ(platform::planned_path(at("linked/a/b")).value_or(""), at("real/a/b"));
  EXPECT_EQ(platform::planned_path(at("linked/a/b/")).value_or(""), at("real/a/b"));
  EXPECT_EQ(platform::planned_path(at("linked/../real")).value_or(""), at("real"));
}

TEST_F(PlannedPath, RefusesDotsAndDanglingLinksInTheRest) {
  link("dangling", "nowhere");

  EXPECT_EQ(code_of(platform::planned_path(at("missing/../x"))), "PATH_UNPLANNABLE");
  EXPECT_EQ(code_of(platform::planned_path(at("dangling"))), "PATH_UNPLANNABLE");
  EXPECT_EQ(code_of(platform::planned_path(at("dangling/x"))), "PATH_UNPLANNABLE");
  EXPECT_EQ(code_of(platform::planned_path("")), "PATH_UNPLANNABLE");
}

TEST_F(Staged, LeavesNothingWhenItIsNotPutInItsPlace) {
  const auto target = file("target", "old");
  const auto directory_fd = platform::open_directory(at("."));
  ASSERT_TRUE(directory_fd);

  { ASSERT_TRUE(StagedFile::stage(target, "new", 0600)); }

  EXPECT_EQ(platform::list_directory(directory_fd->get()).value_or(std::vector<std::string>{}),
            std::vector<std::string>{"target"});
  EXPECT_EQ(platform::read_trusted_file(target, 10).value_or(""), "old");
}

TEST_F(Staged, ReplacesOnce) {
  const auto target = file("target", "old", 0644);

  auto staged = StagedFile::stage(target, "new", 0600);
  ASSERT_TRUE(staged);
  ASSERT_TRUE(staged->replace());

  EXPECT_EQ(platform::read_trusted_file(target, 10).value_or(""), "new");
  EXPECT_EQ(platform::facts_of_path(target)->value().mode & 0777, 0600U);
}

TEST_F(Staged, LooksAgainBeforeItReplaces) {
  const auto target = at("target");
  auto staged = StagedFile::stage(target, "new", 0600);
  ASSERT_TRUE(staged);
  link("target", "elsewhere");

  const auto replaced = staged->replace();

  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code, "TARGET_UNSAFE");
  EXPECT_TRUE(platform::facts_of_path(target)->value().is_link());
}

}  // namespace
}  // namespace repobridge::admin
