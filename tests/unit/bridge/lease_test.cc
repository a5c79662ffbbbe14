#include "bridge/runs/lease.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "platform/digest.h"
#include "tests/unit/details.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::runs {
namespace {

using policy::Json;
using tests::code_of;
using tests::details_of;
using tests::exists;
using tests::mode_of;
using tests::TemporaryDirectory;
using tests::value_of;

const Holder kHolder{
    .tool = "run_repo_action", .action = "check", .since = "2026-01-01T00:00:00.000Z", .run_id = "abc"};
const Json kHolderJson{
    {"tool", "run_repo_action"}, {"action", "check"}, {"since", kHolder.since}, {"run_id", "abc"}};
const Json kExternal{{"tool", "external"}, {"action", nullptr}, {"since", nullptr}, {"run_id", nullptr}};

class LeaseTest : public ::testing::Test {
 protected:
  [[nodiscard]] LeasePlace place() const {
    return LeasePlace::of(directory_.path(), {.device = 0xfe00, .inode = 42});
  }

  [[nodiscard]] Result<Lease> begin(const Generation& generation) const {
    return LockedWorkdir::lock(place()).and_then(
        [&](LockedWorkdir locked) { return std::move(locked).begin(kHolder, generation); });
  }
  [[nodiscard]] Result<Lease> begin() const { return begin(value_of(Generation::begin())); }

  // A writer that wrote these lines and then died with everything that held its lock.
  void leave(const std::string& lines, const Generation& generation) const {
    const auto lease = value_of(begin(generation));
    value_of(platform::write_all(lease.record(), lines));
  }
  void leave(const std::string& lines) const { leave(lines, value_of(Generation::begin())); }

  [[nodiscard]] std::optional<Record> leftover() const {
    return value_of(value_of(LockedWorkdir::lock(place())).leftover());
  }
  [[nodiscard]] bool proven_gone() const { return leftover()->proven_gone(value_of(platform::boot_id())); }

  // What a start or a writer finds in place of a record of that text.
  void put(const std::string& text) const { directory_.write("fe00-2a.guard", text); }

  TemporaryDirectory directory_;
};

std::string run_line(const std::string& receipt) {
  return Json{{"run", {{"pid", 1}, {"started", 2}, {"receipt_sha256", platform::sha256_hex(receipt)}}}}
             .dump() +
         "\n";
}
std::string drained_line(const std::string& receipt) { return Json{{"drained", receipt}}.dump() + "\n"; }

TEST_F(LeaseTest, RecordsWhoBeganAndClearsItAtTheEnd) {
  auto lease = value_of(begin());

  EXPECT_EQ(mode_of(place().record_path), 0600U);
  const auto record = value_of(read_record(place()));
  EXPECT_EQ(to_json(record->holder), kHolderJson);
  EXPECT_EQ(record->bridge, value_of(platform::identity_of(::getpid())));
  EXPECT_TRUE(record->git.is_null());

  value_of(std::move(lease).release());
  EXPECT_FALSE(exists(place().record_path));
  EXPECT_EQ(leftover(), std::nullopt);
}

TEST_F(LeaseTest, SaysWhoHoldsIt) {
  const auto lease = value_of(begin());

  const auto second = LockedWorkdir::lock(place());

  EXPECT_EQ(code_of(second), "WORKDIR_BUSY");
  EXPECT_EQ(details_of(second)["holder"], kHolderJson);
}

TEST_F(LeaseTest, AnotherProgramIsExternal) {
  const auto lock = value_of(platform::FileLock::try_lock(place().lock_path));

  EXPECT_EQ(details_of(LockedWorkdir::lock(place()))["holder"], kExternal);
}

TEST_F(LeaseTest, AnotherProgramIsNotTakenForAWriterThatIsDead) {
  auto generation = value_of(Generation::begin());
  generation.process.started += 1;  // so it is no living process
  leave("", generation);
  const auto lock = value_of(platform::FileLock::try_lock(place().lock_path));

  EXPECT_EQ(details_of(LockedWorkdir::lock(place()))["holder"], kExternal);
}

TEST_F(LeaseTest, AWriterThatStartedNothingIsProvenGone) {
  leave("");

  EXPECT_TRUE(proven_gone());
}

TEST_F(LeaseTest, BeginsOnlyWhenTheLeftoverIsSettled) {
  leave("");
  auto locked = value_of(LockedWorkdir::lock(place()));
  const auto refused = std::move(locked).begin(kHolder, value_of(Generation::begin()));
  EXPECT_EQ(code_of(refused), "WORKDIR_RECOVERY_REQUIRED");
  EXPECT_EQ(details_of(refused)["holder"], kHolderJson);
}

TEST_F(LeaseTest, BeginsAfterTheLeftoverIsSettled) {
  leave("");
  {
    auto locked = value_of(LockedWorkdir::lock(place()));
    value_of(locked.settle());
    EXPECT_EQ(code_of(std::move(locked).begin(kHolder, value_of(Generation::begin()))), "OK");
  }
}

TEST_F(LeaseTest, ARunWithoutReceiptIsNotProvenGone) {
  leave(run_line("s"));

  EXPECT_FALSE(proven_gone());
  EXPECT_EQ(leftover()->supervisor, (platform::ProcessIdentity{.pid = 1, .started = 2}));
}

TEST_F(LeaseTest, AHolderThatCannotProveItsEndIsNoneToWaitFor) {
  const auto lease = value_of(begin());
  value_of(lease.note_unproven());

  const auto refused = LockedWorkdir::lock(place());

  EXPECT_EQ(code_of(refused), "WORKDIR_RECOVERY_REQUIRED");
  EXPECT_EQ(details_of(refused)["holder"], kHolderJson);
}

TEST_F(LeaseTest, ARunWithItsReceiptIsProvenGone) {
  leave(run_line("s") + drained_line("s"));

  EXPECT_TRUE(proven_gone());
}

TEST_F(LeaseTest, AForgedReceiptProvesNothing) {
  for (const auto& receipts :
       {drained_line("t"), drained_line(platform::sha256_hex("s")), drained_line("t") + drained_line("s")}) {
    leave(run_line("s") + receipts);
    EXPECT_FALSE(proven_gone()) << receipts;
    value_of(value_of(LockedWorkdir::lock(place())).settle());
  }
}

TEST_F(LeaseTest, EveryRunNeedsItsOwnReceipt) {
  leave(run_line("a") + drained_line("a") + run_line("b"));
  EXPECT_FALSE(proven_gone());
  value_of(value_of(LockedWorkdir::lock(place())).settle());

  leave(run_line("a") + drained_line("a") + run_line("b") + drained_line("b"));
  EXPECT_TRUE(proven_gone());
  value_of(value_of(LockedWorkdir::lock(place())).settle());

  leave(run_line("a") + run_line("b") + drained_line("b"));
  EXPECT_FALSE(proven_gone());
}

TEST_F(LeaseTest, ARunsControlGroupIsTheRunsOwn) {
  const auto line = [](const char* path) {
    return Json{{"run",
                 {{"pid", 1},
                  {"started", 2},
                  {"receipt_sha256", ""},
                  {"control_group", {{"path", path}, {"confined", true}}}}}}
               .dump() +
           "\n";
  };
  leave(line("/groups/repobridge-run-abc"));
  EXPECT_EQ(leftover()->control_group->path, "/groups/repobridge-run-abc");
  EXPECT_TRUE(leftover()->control_group->confined);
  EXPECT_FALSE(proven_gone());
  value_of(value_of(LockedWorkdir::lock(place())).settle());

  leave(line("/groups/repobridge-run-abcd"));
  EXPECT_EQ(code_of(read_record(place())), "INTERNAL_ERROR");
}

TEST_F(LeaseTest, WhatTheBridgeCouldNotProveIsNotProvenLater) {
  {
    const auto lease = value_of(begin());
    value_of(platform::write_all(lease.record(), run_line("s") + drained_line("s")));
    value_of(lease.note_unproven());
  }

  EXPECT_FALSE(proven_gone());
}

TEST_F(LeaseTest, NothingOutlivesTheMachinesStart) {
  auto generation = value_of(Generation::begin());
  generation.boot = "another";
  leave(run_line("s"), generation);

  EXPECT_TRUE(proven_gone());
}

TEST_F(LeaseTest, TheLastWordOnTheRepositoryCounts) {
  {
    const auto lease = value_of(begin());
    value_of(lease.note_git({{"scratch", "a"}}));
    value_of(lease.note_git({{"scratch", "b"}}));
  }

  EXPECT_EQ(leftover()->git, (Json{{"scratch", "b"}}));
}

TEST_F(LeaseTest, BeforeItsFirstLineIsWholeNothingBegan) {
  for (const std::string text : {"", "{", R"({"version":2)"}) {
    put(text);
    EXPECT_EQ(leftover(), std::nullopt) << text;
    auto lease = begin();
    EXPECT_EQ(code_of(lease), "OK") << text;
    value_of(std::move(*lease).release());
  }
}

TEST_F(LeaseTest, ALineThatIsNotWholeTellsNothing) {
  leave(run_line("s") + drained_line("s") + R"({"run":{"pid":7)");

  EXPECT_TRUE(proven_gone());
}

TEST_F(LeaseTest, CutAtAnyByteItTellsNoMoreThanItsWholeLines) {
  leave(run_line("s") + drained_line("s") + run_line("t"));
  std::ifstream file(place().record_path);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(std::ranges::count(whole, '\n'), 4);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    value_of(value_of(LockedWorkdir::lock(place())).settle());
    put(whole.substr(0, length));
    const auto lines = std::ranges::count(whole.substr(0, length), '\n');
    const auto record = value_of(read_record(place()));
    EXPECT_EQ(record.has_value(), lines > 0) << length;
    if (record) {
      EXPECT_EQ(record->runs_drained, lines == 1 || lines == 3) << length;
    }
  }
}

TEST_F(LeaseTest, WhatCannotBeReadIsForTheAdministrator) {
  for (const std::string text : {"\n", "{}\n", "nonsense\n",
                                 R"({"version":1})"
                                 "\n"}) {
    put(text);
    auto locked = value_of(LockedWorkdir::lock(place()));
    EXPECT_EQ(code_of(locked.leftover()), "INTERNAL_ERROR") << text;
    // A refused begin() takes nothing: the lock is still held, and the record there.
    EXPECT_EQ(code_of(std::move(locked).begin(kHolder, value_of(Generation::begin()))),
              "WORKDIR_RECOVERY_REQUIRED");
    value_of(locked.settle());  // NOLINT(bugprone-use-after-move)
  }
}

TEST_F(LeaseTest, AnUnknownLineMakesItUnreadable) {
  for (const char* line :
       {"{\"other\":1}\n", "{\"run\":{}}\n", "{\"drained\":1}\n", "[]\n", "{\"git\":{},\"run\":{}}\n"}) {
    leave(line);
    EXPECT_EQ(code_of(value_of(LockedWorkdir::lock(place())).leftover()), "INTERNAL_ERROR") << line;
    value_of(value_of(LockedWorkdir::lock(place())).settle());
  }
}

}  // namespace
}  // namespace repobridge::runs
