#include "platform/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tests/children/without.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::TemporaryDirectory;

// What `work` answers in a process of its own, since there is no way back out of a sandbox.
template <class Work>
bool holds_in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int open_errno(const std::string& path, int flags) {
  const UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  return fd.valid() ? 0 : errno;
}

class SandboxTest : public ::testing::Test {
 protected:
  // The sandbox with `granted` to read and `written` to write.
  [[nodiscard]] bool enter() const {
    return enter_sandbox({{.descriptor = granted_.get(), .access = Access::read},
                          {.descriptor = written_.get(), .access = Access::write}})
        .has_value();
  }

  TemporaryDirectory place_;
  std::string other_ = place_.write("other", "other");
  std::string inside_ = place_.make("granted") + "/file";
  std::string fresh_ = place_.make("written") + "/file";
  UniqueFd granted_{::open((place_ / "granted").c_str(), O_PATH | O_CLOEXEC)};
  UniqueFd written_{::open((place_ / "written").c_str(), O_PATH | O_CLOEXEC)};
};

TEST_F(SandboxTest, WhatIsGrantedCanBeReadAndWritten) {
  place_.write("granted/file", "text");
  EXPECT_TRUE(holds_in_child([&] {
    return enter() && open_errno(inside_, O_RDONLY) == 0 && open_errno(fresh_, O_WRONLY | O_CREAT) == 0;
  }));
  EXPECT_TRUE(tests::exists(fresh_));
}

TEST_F(SandboxTest, OtherFilesCannot) {
  place_.write("granted/file", "text");
  EXPECT_TRUE(holds_in_child([&] {
    return enter() && open_errno(other_, O_RDONLY) == EACCES &&
           open_errno("/etc/passwd", O_RDONLY) == EACCES && open_errno(inside_, O_WRONLY) == EACCES;
  }));
}

TEST_F(SandboxTest, NoSocketsProcessesOrSignals) {
  const pid_t parent = ::getpid();
  EXPECT_TRUE(holds_in_child([&] {
    if (!enter()) return false;
    const bool no_socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0;
    const bool no_signal = ::kill(parent, 0) != 0;
    return no_socket && no_signal && ::fork() < 0;
  }));
}

TEST_F(SandboxTest, NeedsEachOfItsLayers) {
  for (const auto hide : {tests::hide_landlock, tests::hide_seccomp}) {
    EXPECT_TRUE(holds_in_child([&] {
      if (!hide()) return false;
      const auto entered = enter_sandbox({});
      return !entered && entered.error().code == "SANDBOX_UNAVAILABLE";
    }));
  }
}

TEST_F(SandboxTest, BoundsResources) {
  EXPECT_TRUE(holds_in_child([&] {
    (void)::signal(SIGXFSZ, SIG_IGN);
    if (!limit_resources({.processor_seconds = 5, .file_bytes = 10, .descriptors = 8})) return false;
    const UniqueFd file(::open(other_.c_str(), O_WRONLY | O_CLOEXEC));
    const bool bounded = ::pwrite(file.get(), "x", 1, 9) == 1 && ::pwrite(file.get(), "x", 1, 10) < 0;
    int last = 0;
    while (last >= 0) last = ::dup(file.get());
    return bounded && errno == EMFILE;
  }));
}

}  // namespace
}  // namespace repobridge::platform
