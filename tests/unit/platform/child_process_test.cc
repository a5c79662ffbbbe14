#include "platform/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "platform/process_identity.h"
#include "tests/unit/platform/child.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::Child;
using tests::code_of;
using tests::os_code_of;
using tests::TemporaryDirectory;
using tests::value_of;
using Lines = std::vector<std::string>;

// What show_self said about `subject`, in order.
Lines said_about(const Lines& lines, const std::string& subject) {
  Lines chosen;
  for (const auto& line : lines) {
    if (line.starts_with(subject + " ")) chosen.push_back(line.substr(subject.size() + 1));
  }
  return chosen;
}

Lines shown(SpawnRequest request = {}, const Lines& arguments = {}) {
  return Child("show_self", arguments, std::move(request)).lines();
}

// The numbers of the descriptors that the child holds, sorted.
std::vector<int> numbers_of(const Lines& lines) {
  std::vector<int> numbers;
  for (const auto& fd : said_about(lines, "fd")) numbers.push_back(std::stoi(fd));
  std::ranges::sort(numbers);
  return numbers;
}

std::string target_of(const Lines& lines, int number) {
  const std::string prefix = std::to_string(number) + " ";
  for (const auto& fd : said_about(lines, "fd")) {
    if (fd.starts_with(prefix)) return fd.substr(prefix.size());
  }
  return "(not open)";
}

UniqueFd opened(const std::string& path) { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

SpawnRequest request_for(const std::string& program) { return {.program = program, .argv = {program}}; }

TEST(ChildProcess, GetsExactlyTheArguments) {
  const Lines arguments{"", " a  b ", "$HOME", "`id`", "*", "--flag=\"x\"", "\xff"};

  const auto lines = shown({}, arguments);

  Lines expected{"show_self"};
  expected.insert(expected.end(), arguments.begin(), arguments.end());
  EXPECT_EQ(said_about(lines, "arg"), expected);
}

TEST(ChildProcess, GetsExactlyTheEnvironment) {
  ASSERT_EQ(::setenv("REPOBRIDGE_TEST_SECRET", "s3cret", 1), 0);

  EXPECT_EQ(said_about(shown(), "env"), Lines{});
  EXPECT_EQ(said_about(shown({.environment = {"A=1", "B=two words", "EMPTY="}}), "env"),
            (Lines{"A=1", "B=two words", "EMPTY="}));
}

TEST(ChildProcess, GetsNoDescriptorThatWasNotNamed) {
  // Three that any child would inherit if nobody closed them, one of them far up.
  const UniqueFd low(::open("/dev/zero", O_RDONLY));  // NOLINT(android-cloexec-open)
  const UniqueFd middle(::fcntl(low.get(), F_DUPFD, 150));
  const UniqueFd high(::fcntl(low.get(), F_DUPFD, 900));
  ASSERT_TRUE(high.valid());

  EXPECT_EQ(numbers_of(shown()), (std::vector<int>{0, 1, 2}));
}

TEST(ChildProcess, GetsTheNamedDescriptorsInTheirOrder) {
  const TemporaryDirectory dir;
  const auto first = opened(dir.write("first", ""));
  const auto second = opened(dir.write("second", ""));

  const auto lines = shown({.passed = {second.get(), first.get(), second.get()}});

  EXPECT_EQ(numbers_of(lines), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(target_of(lines, 3), dir / "second");
  EXPECT_EQ(target_of(lines, 4), dir / "first");
  EXPECT_EQ(target_of(lines, 5), dir / "second");
}

// Sources that stand where targets go, in the opposite order: a careless dup2() would overwrite one.
TEST(ChildProcess, GetsTheNamedDescriptorsWhateverTheirNumbersHere) {
  const TemporaryDirectory dir;
  const auto first = opened(dir.write("first", ""));
  const auto second = opened(dir.write("second", ""));
  const int low = std::min(first.get(), second.get());
  const int high = std::max(first.get(), second.get());
  ASSERT_LT(high, 50) << "the test means descriptors that collide with the child's own";
  Lines expected;
  std::vector<int> passed;
  for (int i = 0; i < 50; ++i) {
    passed.push_back(i % 2 == 0 ? high : low);
    expected.push_back(passed.back() == first.get() ? dir / "first" : dir / "second");
  }

  const auto lines = shown({.passed = passed});

  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(target_of(lines, 3 + i), expected.at(static_cast<std::size_t>(i))) << i;
}

TEST(ChildProcess, GetsMoreDescriptorsThanAreParkedOutOfTheWay) {
  const TemporaryDirectory dir;
  const auto file = opened(dir.write("f", ""));
  const auto last = opened(dir.write("last", ""));
  std::vector<int> passed(150, file.get());
  passed.back() = last.get();

  const auto lines = shown({.passed = passed});

  EXPECT_EQ(numbers_of(lines).size(), 153U);
  EXPECT_EQ(target_of(lines, 3), dir / "f");
  EXPECT_EQ(target_of(lines, 152), dir / "last");
}

TEST(ChildProcess, LeavesThePassedDescriptorsWithTheCaller) {
  const TemporaryDirectory dir;
  const auto file = opened(dir.write("f", "bytes"));

  (void)shown({.standard_input = file.get(), .passed = {file.get()}});

  EXPECT_EQ(value_of(read_regular(file.get(), 100)), "bytes");
  EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(ChildProcess, ReadsNothingWhereNoInputIsNamed) { EXPECT_EQ(target_of(shown(), 0), "/dev/null"); }

TEST(ChildProcess, ReadsTheInputThatIsNamed) {
  const TemporaryDirectory dir;
  const auto input = opened(dir.write("input", ""));

  EXPECT_EQ(target_of(shown({.standard_input = input.get()}), 0), dir / "input");
}

TEST(ChildProcess, WritesItsErrorsWhereItIsTold) {
  const TemporaryDirectory dir;
  const auto errors = opened(dir.write("errors", ""));

  EXPECT_EQ(target_of(shown({.standard_error = errors.get()}), 2), dir / "errors");
}

TEST(ChildProcess, RunsInTheNamedDirectory) {
  const TemporaryDirectory dir;
  const auto directory = dir.open();

  EXPECT_EQ(said_about(shown({.working_directory = directory.get()}), "cwd"), Lines{dir.path()});
  EXPECT_EQ(said_about(shown(), "cwd"), Lines{value_of(canonical_path("."))});
}

TEST(ChildProcess, RunsInTheNamedDirectoryWhateverItsNumberHere) {
  const TemporaryDirectory dir;
  const auto directory = dir.open();
  ASSERT_LT(directory.get(), 50) << "the test means a descriptor that collides with the child's own";
  const auto file = opened(dir.write("f", ""));
  const std::vector<int> passed(50, file.get());

  EXPECT_EQ(said_about(shown({.passed = passed, .working_directory = directory.get()}), "cwd"),
            Lines{dir.path()});
}

// Signals of a mask as /proc writes it, without 32 and 33, which the C library keeps to itself.
std::uint64_t signals_in(const Lines& masks) {
  constexpr std::uint64_t kOfTheLibrary = 0x180000000U;
  return std::stoull(masks.at(0), nullptr, 16) & ~kOfTheLibrary;
}

TEST(ChildProcess, BeginsWithNoSignalBlockedIgnoredOrHandled) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, &all, &before), 0);
  for (const int number : {SIGPIPE, SIGINT, SIGHUP, SIGRTMIN}) ::signal(number, SIG_IGN);
  ::signal(SIGTERM, [](int) {});

  Child child("show_self", {});
  for (const int number : {SIGPIPE, SIGINT, SIGHUP, SIGRTMIN, SIGTERM}) ::signal(number, SIG_DFL);
  ASSERT_EQ(::sigprocmask(SIG_SETMASK, &before, nullptr), 0);
  const auto lines = child.lines();

  EXPECT_EQ(signals_in(said_about(lines, "blocked")), 0U);
  EXPECT_EQ(signals_in(said_about(lines, "ignored")), 0U);
}

TEST(ChildProcess, SaysWhyAProgramCannotBeStarted) {
  const TemporaryDirectory dir;
  const auto text = dir.write("text", "echo no shell reads this\n", 0755);
  const auto plain = dir.write("plain", "#!/bin/true\n", 0644);
  const auto orphan = dir.write("orphan", "#!/no/such/interpreter\n", 0755);

  const auto start = [](const std::string& program) { return ChildProcess::spawn(request_for(program)); };

  EXPECT_EQ(os_code_of(start(dir / "nothing")), ENOENT);
  EXPECT_EQ(os_code_of(start("/bin/true; echo")), ENOENT);
  EXPECT_EQ(os_code_of(start("true")), ENOENT);  // PATH is not searched
  EXPECT_EQ(os_code_of(start(orphan)), ENOENT);
  EXPECT_EQ(os_code_of(start(plain)), EACCES);
  EXPECT_EQ(os_code_of(start(dir.path())), EACCES);
  EXPECT_EQ(os_code_of(start(text)), ENOEXEC);
  EXPECT_EQ(code_of(start(text)), "START_FAILED");
}

TEST(ChildProcess, LeavesNothingBehindWhenItCannotBeStarted) {
  const TemporaryDirectory dir;

  EXPECT_FALSE(ChildProcess::spawn(request_for(dir / "nothing")));

  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ChildProcess, RefusesADescriptorThatIsNotOpen) {
  auto request = request_for("/bin/true");
  request.passed = {9999};

  EXPECT_EQ(os_code_of(ChildProcess::spawn(request)), EBADF);
}

TEST(ChildProcess, ReportsTheExitCode) {
  Child child("show_self", {});
  (void)child.lines();

  const auto status = child.process().reap();

  EXPECT_EQ(status.code, 7);
  EXPECT_EQ(status.signal, std::nullopt);
  EXPECT_FALSE(status.success());
}

TEST(ChildProcess, ReportsTheSignalThatEndedIt) {
  Child child("sleeper", {});
  child.process().signal(SIGTERM);

  const auto status = child.process().reap();

  EXPECT_EQ(status.signal, SIGTERM);
  EXPECT_EQ(status.code, std::nullopt);
  EXPECT_FALSE(status.success());
}

TEST(ChildProcess, CountsOnlyCodeZeroAsSuccess) {
  auto child = value_of(ChildProcess::spawn(request_for("/bin/true")));

  EXPECT_TRUE(child.reap().success());
  EXPECT_FALSE(ExitStatus{}.success());
}

// With SIGCHLD ignored the kernel reaps by itself and forgets the status.
TEST(ChildProcess, IsNoSuccessWhenItsStatusIsLost) {
  ::signal(SIGCHLD, SIG_IGN);
  Child child("sleeper", {});
  child.process().signal(SIGTERM);

  const auto status = child.process().reap();

  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_FALSE(status.success());
  EXPECT_EQ(status.code, std::nullopt);
  EXPECT_EQ(status.signal, std::nullopt);
}

TEST(ChildProcess, ShowsItsEndOnADescriptor) {
  Child child("sleeper", {});
  ASSERT_NE(child.wait_until_ready(), -1);
  pollfd ended{.fd = child.process().exit_fd(), .events = POLLIN, .revents = 0};

  EXPECT_EQ(::poll(&ended, 1, 0), 0);
  child.process().signal(SIGKILL);
  EXPECT_EQ(::poll(&ended, 1, -1), 1);

  EXPECT_EQ(child.process().reap().signal, SIGKILL);
}

TEST(ChildProcess, TakesASignalAfterItsEndWithoutHarm) {
  auto child = value_of(ChildProcess::spawn(request_for("/bin/true")));
  pollfd ended{.fd = child.exit_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);

  child.signal(SIGKILL);

  EXPECT_TRUE(child.reap().success());
  child.signal(SIGKILL);
}

TEST(ChildProcess, IsKilledAndReapedWhenItsOwnerGoes) {
  std::optional<ProcessIdentity> identity;

  {
    Child child("sleeper", {});
    ASSERT_NE(child.wait_until_ready(), -1);
    identity = value_of(identity_of(child.process().pid()));
    EXPECT_TRUE(may_be_alive(*identity));
  }

  EXPECT_FALSE(may_be_alive(*identity));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a zombie was left";
}

TEST(ChildProcess, LivesOnWithItsNewOwner) {
  std::optional<ChildProcess> second;
  {
    auto first = value_of(ChildProcess::spawn(request_for(tests::path_of_child("sleeper"))));
    second.emplace(std::move(first));
  }

  EXPECT_TRUE(may_be_alive(value_of(identity_of(second->pid()))));
  second->signal(SIGKILL);
  EXPECT_EQ(second->reap().signal, SIGKILL);
}

}  // namespace
}  // namespace repobridge::platform
