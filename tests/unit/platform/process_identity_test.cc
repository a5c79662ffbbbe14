#include "platform/process_identity.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tests/unit/platform/child.h"
#include "tests/unit/results.h"

namespace repobridge::platform {
namespace {

using tests::value_of;

TEST(BootId, IsTheKernelsAndStays) {
  const auto id = value_of(boot_id());

  EXPECT_EQ(id.size(), 36U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef-"), std::string::npos);
  EXPECT_EQ(value_of(boot_id()), id);
}

TEST(ProcessIdentity, IsTheSameEachTimeItIsAsked) {
  const auto self = value_of(identity_of(::getpid()));

  EXPECT_EQ(self.pid, ::getpid());
  EXPECT_GT(self.started, 0U);
  EXPECT_EQ(value_of(identity_of(::getpid())), self);
  EXPECT_TRUE(may_be_alive(self));
}

TEST(ProcessIdentity, IsNotDeceivedByTheProcesssName) {
  const auto before = value_of(identity_of(::getpid()));
  std::array<char, 16> name{};
  ASSERT_EQ(::prctl(PR_GET_NAME, name.data()), 0);

  ASSERT_EQ(::prctl(PR_SET_NAME, "x) Z 1 1 1 1 ("), 0);
  const auto renamed = value_of(identity_of(::getpid()));
  const bool alive = may_be_alive(before);
  ASSERT_EQ(::prctl(PR_SET_NAME, name.data()), 0);

  EXPECT_EQ(renamed, before);
  EXPECT_TRUE(alive);
}

TEST(ProcessIdentity, TellsAnotherProcessOfTheSameIdApart) {
  auto earlier = value_of(identity_of(::getpid()));
  earlier.started -= 1;

  EXPECT_FALSE(may_be_alive(earlier));
}

TEST(ProcessIdentity, CountsAZombieAsGone) {
  tests::Child child("sleeper", {});
  const auto identity = value_of(identity_of(child.process().pid()));
  ASSERT_TRUE(may_be_alive(identity));

  child.process().signal(SIGKILL);
  pollfd ended{.fd = child.process().exit_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);

  EXPECT_FALSE(may_be_alive(identity));
}

TEST(ProcessIdentity, CountsAStoppedProcessAsAlive) {
  tests::Child child("sleeper", {"stop"});
  ASSERT_NE(child.wait_until_ready(), -1);

  EXPECT_TRUE(may_be_alive(value_of(identity_of(child.process().pid()))));
}

TEST(ProcessIdentity, HasNoneForAProcessThatIsGone) {
  pid_t gone = -1;
  ProcessIdentity identity;
  {
    tests::Child child("sleeper", {});
    gone = child.process().pid();
    identity = value_of(identity_of(gone));
  }

  EXPECT_FALSE(identity_of(gone));
  EXPECT_FALSE(may_be_alive(identity));
}

}  // namespace
}  // namespace repobridge::platform
