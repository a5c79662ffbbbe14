// A tree root changes the process it runs in for good, so each test asks one of its own: the child tree_root.
#include "platform/process_tree.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "platform/process_identity.h"
#include "tests/unit/platform/child.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::Child;
using tests::path_of_child;
using Lines = std::vector<std::string>;

bool said(const Lines& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

// Until a process that need not be ours has ended.
void wait_for_end(pid_t pid) {
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!ended.valid()) return;  // ESRCH: it has
  pollfd ready{.fd = ended.get(), .events = POLLIN, .revents = 0};
  (void)::poll(&ready, 1, -1);
}

TEST(ProcessTree, StartsItsLeaderInASessionOfItsOwnWithoutPrivilegesToGain) {
  Child root("tree_root", {"wait", path_of_child("show_self"), "an argument"});

  const auto lines = root.lines();

  EXPECT_TRUE(said(lines, "arg an argument"));
  EXPECT_TRUE(said(lines, "session own"));
  EXPECT_TRUE(said(lines, "no_new_privs 1"));
  EXPECT_TRUE(said(lines, "death_signal 9"));
  EXPECT_TRUE(said(lines, "blocked 0000000000000000"));
  EXPECT_TRUE(said(lines, "leader code 7"));
  EXPECT_TRUE(said(lines, "left 0"));
}

TEST(ProcessTree, GivesItsLeaderNoDescriptorBeyondTheThree) {
  Child root("tree_root", {"wait", path_of_child("show_self")});

  const auto lines = root.lines();

  const auto descriptors =
      std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("fd "); });
  EXPECT_EQ(descriptors, 3);
}

TEST(ProcessTree, ClosesItselfToOtherProcessesOfTheUser) {
  Child root("tree_root", {"wait", path_of_child("show_self")});

  EXPECT_TRUE(said(root.lines(), "dumpable 0"));
}

TEST(ProcessTree, SaysWhatExecSaidAndLeavesNoChild) {
  const tests::TemporaryDirectory dir;
  const auto text = dir.write("text", "echo no shell reads this\n", 0755);
  const auto plain = dir.write("plain", "", 0644);

  const auto refusal = [](const std::string& program, int os_code) {
    return said(Child("tree_root", {"wait", program}).lines(),
                "refused START_FAILED " + std::to_string(os_code) + " none_left 1");
  };

  EXPECT_TRUE(refusal(dir / "nothing", ENOENT));
  EXPECT_TRUE(refusal(text, ENOEXEC));
  EXPECT_TRUE(refusal(plain, EACCES));
}

TEST(ProcessTree, FindsAndEndsWhatHidInAnotherSession) {
  Child root("tree_root", {"wait", path_of_child("runaway")});
  const pid_t hidden = root.wait_until_ready();
  ASSERT_NE(hidden, -1);

  const auto lines = root.lines();

  EXPECT_TRUE(said(lines, "leader code 0"));
  EXPECT_TRUE(said(lines, "left 1"));
  EXPECT_TRUE(said(lines, "gone"));
  EXPECT_EQ(::kill(hidden, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(ProcessTree, EndsWhatIsNeverTheSameProcessTwice) {
  Child root("tree_root", {"wait", path_of_child("rabbit")});

  const auto lines = root.lines();

  EXPECT_TRUE(said(lines, "leader code 0"));
  EXPECT_TRUE(said(lines, "gone"));
}

TEST(ProcessTree, WakesAStoppedLeaderSoThatItCanEnd) {
  Child root("tree_root", {"end", path_of_child("sleeper"), "stop"});

  const auto lines = root.lines();

  EXPECT_TRUE(said(lines, "leader signal " + std::to_string(SIGTERM)));
  EXPECT_TRUE(said(lines, "left 0"));
}

TEST(ProcessTree, TakesItsLeaderAlongWhenItIsKilled) {
  Child root("tree_root", {"wait", path_of_child("sleeper")});
  const pid_t leader = root.wait_until_ready();
  ASSERT_NE(leader, -1);

  root.process().signal(SIGKILL);

  EXPECT_EQ(root.process().reap().signal, SIGKILL);
  wait_for_end(leader);
}

}  // namespace
}  // namespace repobridge::platform
