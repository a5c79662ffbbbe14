#include "platform/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/unit/platform/child.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::bytes_of;
using tests::code_of;
using tests::exists;
using tests::mode_of;
using tests::TemporaryDirectory;
using tests::value_of;

TEST(FileLock, CreatesTheFileAndKeepsIt) {
  const TemporaryDirectory dir;

  { const auto lock = value_of(FileLock::try_lock(dir / "lock")); }

  EXPECT_TRUE(exists(dir / "lock"));
  EXPECT_EQ(mode_of(dir / "lock"), 0600U);
}

TEST(FileLock, KeepsWhatTheFileHolds) {
  const TemporaryDirectory dir;
  const auto path = dir.write("lock", "a note");

  { const auto lock = value_of(FileLock::try_lock(path)); }

  EXPECT_EQ(bytes_of(path), "a note");
}

TEST(FileLock, RefusesASecondHolderInThisProcessAtOnce) {
  const TemporaryDirectory dir;
  const auto lock = value_of(FileLock::try_lock(dir / "lock"));

  const auto second = FileLock::try_lock(dir / "lock");

  EXPECT_EQ(code_of(second), "LOCK_HELD");
  EXPECT_EQ(second.error().kind, Kind::busy);
}

TEST(FileLock, IsFreeAgainWhenItsHolderGoes) {
  const TemporaryDirectory dir;

  for (int i = 0; i < 3; ++i) EXPECT_EQ(code_of(FileLock::try_lock(dir / "lock")), "OK");
}

TEST(FileLock, MovesWithItsOwner) {
  const TemporaryDirectory dir;
  auto first = std::make_unique<FileLock>(value_of(FileLock::try_lock(dir / "lock")));

  const FileLock second = std::move(*first);
  first.reset();

  EXPECT_EQ(code_of(FileLock::try_lock(dir / "lock")), "LOCK_HELD");
}

TEST(FileLock, LeavesOtherFilesFree) {
  const TemporaryDirectory dir;
  const auto lock = value_of(FileLock::try_lock(dir / "a.lock"));

  EXPECT_EQ(code_of(FileLock::try_lock(dir / "A.lock")), "OK");
}

TEST(FileLock, ExcludesAnotherProgramUntilItIsKilled) {
  const TemporaryDirectory dir;
  const auto path = dir / "lock";
  tests::Child holder("hold_lock", {path});
  ASSERT_NE(holder.wait_until_ready(), -1);

  EXPECT_EQ(code_of(FileLock::try_lock(path)), "LOCK_HELD");

  holder.process().signal(SIGKILL);
  (void)holder.process().reap();
  EXPECT_EQ(code_of(FileLock::try_lock(path)), "OK");
}

TEST(FileLock, KeepsAnotherProgramOut) {
  const TemporaryDirectory dir;
  const auto lock = value_of(FileLock::try_lock(dir / "lock"));

  tests::Child second("hold_lock", {dir / "lock"});

  EXPECT_EQ(second.process().reap().code, 1);
}

TEST(FileLock, IsNotKeptByAChild) {
  const TemporaryDirectory dir;
  auto lock = std::make_unique<FileLock>(value_of(FileLock::try_lock(dir / "lock")));
  tests::Child child("sleeper", {});
  ASSERT_NE(child.wait_until_ready(), -1);

  lock.reset();

  EXPECT_EQ(code_of(FileLock::try_lock(dir / "lock")), "OK");
}

TEST(FileLock, ClosesItsDescriptorInAnyOtherProgram) {
  const TemporaryDirectory dir;
  const auto lock = value_of(FileLock::try_lock(dir / "lock"));

  EXPECT_NE(::fcntl(lock.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(FileLock, FollowsNoLink) {
  const TemporaryDirectory dir;
  const auto target = dir.write("target", "old");

  EXPECT_EQ(code_of(FileLock::try_lock(dir.link("link", target))), "LOCK_UNSAFE");
  EXPECT_EQ(code_of(FileLock::try_lock(dir.link("dangling", dir / "nothing"))), "LOCK_UNSAFE");

  EXPECT_FALSE(exists(dir / "nothing"));
  const UniqueFd fd(::open(target.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0) << "the target was locked through the link";
}

TEST(FileLock, RefusesAFileWithASecondName) {
  const TemporaryDirectory dir;
  const auto path = dir.write("lock", "");
  ASSERT_EQ(::link(path.c_str(), (dir / "other").c_str()), 0);

  EXPECT_EQ(code_of(FileLock::try_lock(path)), "LOCK_UNSAFE");
}

TEST(FileLock, RefusesAFifoWithoutWaiting) {
  const TemporaryDirectory dir;

  EXPECT_EQ(code_of(FileLock::try_lock(dir.fifo("lock"))), "LOCK_UNSAFE");
}

TEST(FileLock, RefusesADirectory) {
  const TemporaryDirectory dir;

  EXPECT_EQ(code_of(FileLock::try_lock(dir.make("lock"))), "LOCK_UNSAFE");
}

TEST(FileLock, RefusesSomeoneElsesFile) {
  const TemporaryDirectory dir;
  const auto path = dir.write("lock", "", 0666);
  if (::chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can set this stage";

  EXPECT_EQ(code_of(FileLock::try_lock(path)), "LOCK_UNSAFE");
}

TEST(FileLock, ReportsAMissingDirectory) {
  const TemporaryDirectory dir;

  EXPECT_EQ(tests::os_code_of(FileLock::try_lock(dir / "nothing/lock")), ENOENT);
}

// Somebody replaces the file without end, so that it happens between our open and our lock before long. A
// lock that was not looked up again would count as taken every time.
TEST(FileLock, NoticesThatTheFileWasReplacedMeanwhile) {
  const TemporaryDirectory dir;
  const auto path = dir.write("lock", "");
  std::atomic<bool> noticed = false;
  std::thread replacer([&] {
    while (!noticed) {
      dir.write("new", "");
      (void)::rename((dir / "new").c_str(), path.c_str());
    }
  });

  // Replaced before it was looked at, it has no name left, which is refused for that reason.
  while (!noticed) {
    noticed =
        tests::message_of(FileLock::try_lock(path)) == "the lock file was replaced while it was being locked";
  }

  replacer.join();
  EXPECT_EQ(code_of(FileLock::try_lock(path)), "OK");
}

}  // namespace
}  // namespace repobridge::platform
