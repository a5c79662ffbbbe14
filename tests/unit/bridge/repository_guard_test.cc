#include "bridge/git/repository_guard.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/details.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::git {
namespace {

using policy::Json;
using tests::bytes_of;
using tests::code_of;
using tests::details_of;
using tests::exists;
using tests::mode_of;
using tests::TemporaryDirectory;
using tests::value_of;

const std::string kMain = "refs/heads/main";
const std::string kTracking = "refs/remotes/origin/topic/one";
const std::string kOld(40, '1');
const std::string kNew(40, '2');

// A .git with just what the guard touches, none of which it reads.
class RepositoryGuardTest : public ::testing::Test {
 protected:
  RepositoryGuardTest() {
    locks_.make("locks");
    std::filesystem::create_directories(root_ / ".git/refs/heads");
    root_.write(".git/index", "old index", 0644);
    root_.write(".git/" + kMain, kOld + "\n", 0644);
    lease_.emplace(value_of(
        value_of(runs::LockedWorkdir::lock(runs::LeasePlace::of(locks_.path(), {})))
            .begin(runs::Holder{.tool = "commit_repo_changes"}, value_of(runs::Generation::begin()))));
  }

  [[nodiscard]] RepositoryGuard open() const {
    return value_of(RepositoryGuard::open(*lease_, root_.path()));
  }
  [[nodiscard]] RepositoryGuard prepared() const {
    auto guard = open();
    value_of(guard.prepare());
    return guard;
  }
  [[nodiscard]] RepositoryGuard locked() const {
    auto guard = prepared();
    value_of(guard.lock({"HEAD", kMain, "index"}));
    return guard;
  }
  // As the worker does.
  static void write_index(const RepositoryGuard& guard) {
    value_of(platform::create_file(guard.index_path(), "new index", 0600));
  }

  // What the next start does with what the record says.
  [[nodiscard]] Result<void> settle() const {
    const auto record = value_of(runs::read_record(runs::LeasePlace::of(locks_.path(), {})));
    return RepositoryGuard::settle(root_.open().get(), record->git);
  }
  [[nodiscard]] RepositoryGuard::Standing look() const {
    const auto record = value_of(runs::read_record(runs::LeasePlace::of(locks_.path(), {})));
    return value_of(RepositoryGuard::look(root_.open().get(), record->git));
  }

  void expect_untouched() const { expect_files("old index", kOld + "\n"); }
  void expect_done() const { expect_files("new index", kNew + "\n"); }
  void expect_files(const std::string& index, const std::string& branch) const {
    EXPECT_EQ(bytes_of(root_ / ".git/index"), index);
    EXPECT_EQ(bytes_of(root_ / (".git/" + kMain)), branch);
    expect_nothing_left();
  }
  void expect_nothing_left() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path())) {
      const auto name = entry.path().filename().string();
      EXPECT_FALSE(name.ends_with(".lock") || name.starts_with("repobridge-")) << entry.path();
    }
  }

  TemporaryDirectory locks_;
  TemporaryDirectory root_;
  std::optional<runs::Lease> lease_;
};

TEST_F(RepositoryGuardTest, TakesGitsLocksAndLetsGo) {
  auto guard = locked();
  for (const std::string& name : {std::string("HEAD.lock"), std::string("index.lock"), kMain + ".lock"}) {
    EXPECT_TRUE(exists(root_ / (".git/" + name))) << name;
  }

  value_of(guard.release());

  expect_untouched();
}

TEST_F(RepositoryGuardTest, MovesBranchAndIndexTogether) {
  auto guard = locked();
  write_index(guard);

  value_of(guard.publish(kMain, kNew));
  value_of(guard.release());

  expect_done();
  EXPECT_EQ(mode_of(root_ / ".git/index"), 0644U);
}

TEST_F(RepositoryGuardTest, MakesTheFirstIndexAndTheFirstValue) {
  std::filesystem::remove(root_ / ".git/index");
  std::filesystem::remove(root_ / (".git/" + kMain));
  auto guard = locked();
  write_index(guard);

  value_of(guard.publish(kMain, kNew));
  value_of(guard.release());

  expect_done();
}

TEST_F(RepositoryGuardTest, MovesATrackingBranchAlone) {
  auto guard = prepared();
  value_of(guard.lock({kTracking}));
  EXPECT_FALSE(exists(root_ / ".git/index.lock"));

  value_of(guard.publish(kTracking, kNew));
  value_of(guard.release());

  EXPECT_EQ(bytes_of(root_ / (".git/" + kTracking)), kNew + "\n");
  expect_untouched();
}

TEST_F(RepositoryGuardTest, LeavesAnothersLockAlone) {
  const std::vector<std::pair<std::string, std::string>> cases{{"HEAD.lock", "REPO_HEAD_LOCKED"},
                                                               {"index.lock", "REPO_INDEX_LOCKED"},
                                                               {kMain + ".lock", "REPO_REF_LOCKED"}};
  for (const auto& [name, code] : cases) {
    const auto path = root_.write(".git/" + name, "theirs");
    auto guard = prepared();

    const auto refused = guard.lock({"HEAD", kMain, "index"});

    EXPECT_EQ(code_of(refused), code);
    EXPECT_EQ(details_of(refused)["lock"], name);
    EXPECT_TRUE(details_of(refused)["age_seconds"].is_number_unsigned() ||
                details_of(refused)["age_seconds"].is_number_integer());
    value_of(guard.release());
    EXPECT_EQ(bytes_of(path), "theirs");
    std::filesystem::remove(path);
    expect_untouched();
  }
}

TEST_F(RepositoryGuardTest, LocksNothingElse) {
  for (const std::string name :
       {"config", "", "refs/../config", "refs//x", "refs/.x", "refs/heads/x.lock", "../x", "refs/heads/"}) {
    auto guard = prepared();
    EXPECT_EQ(code_of(guard.lock({name})), "INTERNAL_ERROR") << name;
    value_of(guard.release());
  }
}

TEST_F(RepositoryGuardTest, MovesOnlyWhatIsLocked) {
  auto guard = locked();
  write_index(guard);

  EXPECT_EQ(code_of(guard.publish("refs/heads/other", kNew)), "INTERNAL_ERROR");
  value_of(guard.release());

  expect_untouched();
}

TEST_F(RepositoryGuardTest, MeetsNoLinkOnTheWay) {
  const auto outside = locks_.make("outside");
  std::filesystem::remove_all(root_ / ".git/refs/heads");
  root_.link(".git/refs/heads", outside);
  auto guard = prepared();

  EXPECT_NE(code_of(guard.lock({"HEAD", kMain, "index"})), "OK");
  value_of(guard.release());

  EXPECT_TRUE(std::filesystem::is_empty(outside));
}

TEST_F(RepositoryGuardTest, BringsTheOldIndexBackWhenTheBranchCannotMove) {
  std::filesystem::remove(root_ / (".git/" + kMain));
  std::filesystem::create_directories(root_ / (".git/" + kMain + "/in-the-way"));
  auto guard = locked();
  write_index(guard);

  EXPECT_NE(code_of(guard.publish(kMain, kNew)), "OK");
  value_of(guard.release());

  EXPECT_EQ(bytes_of(root_ / ".git/index"), "old index");
  expect_nothing_left();
}

TEST_F(RepositoryGuardTest, TakesTheNewIndexAwayWhenThereWasNone) {
  std::filesystem::remove(root_ / ".git/index");
  std::filesystem::remove(root_ / (".git/" + kMain));
  std::filesystem::create_directories(root_ / (".git/" + kMain + "/in-the-way"));
  auto guard = locked();
  write_index(guard);

  EXPECT_NE(code_of(guard.publish(kMain, kNew)), "OK");
  value_of(guard.release());

  EXPECT_FALSE(exists(root_ / ".git/index"));
  expect_nothing_left();
}

// What a bridge that died left: the guard goes without release().

TEST_F(RepositoryGuardTest, SettlesWhatDidNotBegin) {
  value_of(settle());
  { const auto died = prepared(); }
  EXPECT_TRUE(look().half_way);

  value_of(settle());

  expect_untouched();
  EXPECT_FALSE(look().half_way);
  value_of(settle());
}

TEST_F(RepositoryGuardTest, SettlesLocks) {
  {
    const auto died = locked();
    write_index(died);
  }

  value_of(settle());

  expect_untouched();
}

TEST_F(RepositoryGuardTest, SettlesLocksAndKeepsAnothers) {
  const auto theirs = root_.write(".git/index.lock", "theirs");
  {
    auto died = prepared();
    EXPECT_EQ(code_of(died.lock({"HEAD", kMain, "index"})), "REPO_INDEX_LOCKED");
  }
  EXPECT_EQ(look().foreign_locks, (std::vector<std::string>{"index.lock"}));

  value_of(settle());

  EXPECT_EQ(bytes_of(theirs), "theirs");
  EXPECT_FALSE(exists(root_ / ".git/HEAD.lock"));
}

TEST_F(RepositoryGuardTest, SettlesADoneMoveByKeepingIt) {
  {
    auto died = locked();
    write_index(died);
    value_of(died.publish(kMain, kNew));
  }

  value_of(settle());

  expect_done();
}

TEST_F(RepositoryGuardTest, SettlesHalfAMoveByUndoingIt) {
  std::filesystem::remove(root_ / (".git/" + kMain));
  std::filesystem::create_directories(root_ / (".git/" + kMain + "/in-the-way"));
  {
    auto died = locked();
    write_index(died);
    EXPECT_NE(code_of(died.publish(kMain, kNew)), "OK");
  }
  EXPECT_EQ(bytes_of(root_ / ".git/index"), "new index");

  value_of(settle());

  EXPECT_EQ(bytes_of(root_ / ".git/index"), "old index");
  expect_nothing_left();
}

TEST_F(RepositoryGuardTest, KeepsAnIndexThatGitWroteSince) {
  std::filesystem::remove(root_ / (".git/" + kMain));
  std::filesystem::create_directories(root_ / (".git/" + kMain + "/in-the-way"));
  {
    auto died = locked();
    write_index(died);
    EXPECT_NE(code_of(died.publish(kMain, kNew)), "OK");
  }
  root_.write(".git/theirs", "their index");
  std::filesystem::rename(root_ / ".git/theirs", root_ / ".git/index");

  value_of(settle());

  EXPECT_EQ(bytes_of(root_ / ".git/index"), "their index");
  expect_nothing_left();
}

TEST_F(RepositoryGuardTest, SettlesWhereNoRepositoryIsAnyMore) {
  { const auto died = locked(); }
  std::filesystem::remove_all(root_ / ".git");

  value_of(settle());
}

TEST_F(RepositoryGuardTest, SaysSoWhenItCannotClearAway) {
  auto guard = locked();
  std::filesystem::create_directory(root_ / (".git/" + guard.scratch_name() + "/index.new"));

  EXPECT_NE(code_of(guard.release()), "OK");
  EXPECT_NE(code_of(settle()), "OK");

  std::filesystem::remove(root_ / (".git/" + guard.scratch_name() + "/index.new"));
  value_of(settle());
  expect_untouched();
}

}  // namespace
}  // namespace repobridge::git
