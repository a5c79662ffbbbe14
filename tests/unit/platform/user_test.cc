#include "platform/user.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/unit/results.h"

namespace repobridge::platform {
namespace {

TEST(CurrentUser, IsWhoTheKernelSays) {
  const auto user = tests::value_of(current_user());

  EXPECT_EQ(user.uid, ::geteuid());
  EXPECT_EQ(user.gid, ::getegid());
  EXPECT_FALSE(user.login.empty());
}

TEST(CurrentUser, TakesNoWordFromTheEnvironment) {
  const auto before = tests::value_of(current_user());
  for (const char* name : {"HOME", "USER", "LOGNAME"}) ::setenv(name, "/planted", 1);

  const auto user = tests::value_of(current_user());

  EXPECT_EQ(user.home, before.home);
  EXPECT_EQ(user.login, before.login);
  EXPECT_NE(user.home, "/planted");
}

}  // namespace
}  // namespace repobridge::platform
