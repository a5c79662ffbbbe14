#include "platform/process_table.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "tests/unit/platform/child.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::Child;
using tests::TemporaryDirectory;
using tests::value_of;

constexpr const char* kSetting = "RB_RUN_ID=of-this-test";
constexpr uid_t kOrdinary = 54321;  // has no name and owns nothing

std::optional<ProcessSeen> entry_of(pid_t pid, const ProcessTable& table) {
  const auto found =
      std::ranges::find_if(table.seen, [&](const ProcessSeen& seen) { return seen.process.pid == pid; });
  return found == table.seen.end() ? std::nullopt : std::optional(*found);
}

class ProcessTableTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::optional<ProcessSeen> look_for(const Child& child) const {
    return entry_of(child.process().pid(), value_of(find_processes(inside_, kSetting)));
  }

  // At work, with what the request adds.
  static Child sleeper(SpawnRequest request = {}) {
    Child child("sleeper", {}, std::move(request));
    if (child.wait_until_ready() == -1) throw std::runtime_error("the sleeper says nothing");
    return child;
  }

  TemporaryDirectory place_;
  std::string inside_ = place_.make("workdir");
};

TEST_F(ProcessTableTest, ShowsWhoWasStartedWithTheSetting) {
  const Child child = sleeper({.environment = {"FIRST=1", kSetting, "LAST=1"}});

  const auto seen = look_for(child);

  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->process, value_of(identity_of(child.process().pid())));
  EXPECT_EQ(seen->name, "sleeper");
  EXPECT_TRUE(seen->carries);
  EXPECT_FALSE(seen->inside);
}

TEST_F(ProcessTableTest, FindsTheSettingWhereverItStandsAndOnlyWhole) {
  const std::string setting = kSetting;
  EXPECT_TRUE(look_for(sleeper({.environment = {setting}})));
  EXPECT_TRUE(look_for(sleeper({.environment = {"A=", setting}})));
  EXPECT_FALSE(look_for(sleeper({.environment = {setting + "s"}})));
  EXPECT_FALSE(look_for(sleeper({.environment = {"X" + setting}})));
  EXPECT_FALSE(look_for(sleeper({.environment = {"A=" + setting}})));
  EXPECT_FALSE(look_for(sleeper({.environment = {"RB_RUN_ID=other"}})));
  EXPECT_FALSE(look_for(sleeper()));
}

TEST_F(ProcessTableTest, ShowsWhoWorksInTheDirectoryOrBelowIt) {
  place_.make("workdir/below");
  for (const char* name : {"workdir", "workdir/below"}) {
    const auto directory = value_of(open_directory(place_ / name));
    const Child child = sleeper({.working_directory = directory.get()});

    const auto seen = look_for(child);

    ASSERT_TRUE(seen) << name;
    EXPECT_TRUE(seen->inside);
    EXPECT_FALSE(seen->carries);
  }
}

TEST_F(ProcessTableTest, ShowsWhoHasAFileOpenThere) {
  const UniqueFd file(::open(place_.write("workdir/file", "").c_str(), O_RDONLY | O_CLOEXEC));
  const Child child = sleeper({.passed = {file.get()}});

  const auto seen = look_for(child);

  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->inside);
}

TEST_F(ProcessTableTest, TellsNeighboursOfTheDirectoryFromIt) {
  place_.make("workdir-2");
  for (const char* name : {"workdir-2", "."}) {
    const auto directory = value_of(open_directory(place_ / name));

    EXPECT_FALSE(look_for(sleeper({.working_directory = directory.get()}))) << name;
  }
}

TEST_F(ProcessTableTest, HasNoPlaceForThisProcess) {
  const UniqueFd file(::open(place_.write("workdir/file", "").c_str(), O_RDONLY | O_CLOEXEC));

  EXPECT_FALSE(entry_of(::getpid(), value_of(find_processes(inside_, kSetting))));
}

TEST_F(ProcessTableTest, HasNoPlaceForTheDead) {
  Child child = sleeper({.environment = {kSetting}});
  ASSERT_TRUE(look_for(child));

  child.process().signal(SIGKILL);
  pollfd ended{.fd = child.process().exit_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);

  EXPECT_FALSE(look_for(child));  // a zombie, since nobody has taken its end yet
}

// A process that its own user may not look into: the ordinary user's where we are root, else ours.
class ClosedProcess {
 public:
  ClosedProcess() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const UniqueFd heard(ends[0]);
    UniqueFd said(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      become_ordinary();
      (void)::prctl(PR_SET_DUMPABLE, 0);
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      said.reset();
      for (;;) (void)::pause();
    }
    said.reset();
    char byte = 0;
    (void)!::read(heard.get(), &byte, 1);  // its end of the pipe closes when it is ready
  }
  ClosedProcess(const ClosedProcess&) = delete;
  ClosedProcess& operator=(const ClosedProcess&) = delete;
  ~ClosedProcess() {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }

  static void become_ordinary() {
    if (::geteuid() == 0 && ::setresuid(kOrdinary, kOrdinary, kOrdinary) != 0) ::_exit(1);
  }

 private:
  pid_t pid_ = -1;
};

// How many are closed to the ordinary user, asked by a process of that user's own.
int closed_to_the_ordinary(const std::string& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    ClosedProcess::become_ordinary();
    const auto table = find_processes(directory, kSetting);
    ::_exit(table ? static_cast<int>(std::min<std::size_t>(table->closed, 100)) : 101);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(ProcessTableTest, CountsWhomItMayNotLookInto) {
  const int before = closed_to_the_ordinary(inside_);
  const ClosedProcess closed;

  const int after = closed_to_the_ordinary(inside_);

  ASSERT_LE(before, 100);
  EXPECT_GE(after, 1);
  if (::geteuid() == 0) {  // where that user has no other process
    EXPECT_EQ(after, before + 1);
  }
}

TEST_F(ProcessTableTest, LooksAtNobodyElsesProcesses) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  const Child child = sleeper({.environment = {kSetting}});
  ASSERT_TRUE(look_for(child));

  const pid_t other = ::fork();
  if (other == 0) {
    ClosedProcess::become_ordinary();
    const auto table = find_processes(inside_, kSetting);
    ::_exit(table && table->seen.empty() && table->closed == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace repobridge::platform
