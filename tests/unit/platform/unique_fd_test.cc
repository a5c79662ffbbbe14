#include "platform/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace repobridge::platform {
namespace {

int new_descriptor() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0 || errno != EBADF; }

TEST(UniqueFd, ClosesWhenItGoes) {
  const int raw = new_descriptor();

  { const UniqueFd owner(raw); }

  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, HandsOverOnMove) {
  UniqueFd first(new_descriptor());
  const int raw = first.get();

  UniqueFd second(std::move(first));

  EXPECT_EQ(second.get(), raw);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): that it is empty is the promise
  EXPECT_TRUE(is_open(raw));
}

TEST(UniqueFd, ClosesTheOldOneOnAssignment) {
  UniqueFd owner(new_descriptor());
  const int old = owner.get();
  UniqueFd next(new_descriptor());
  const int raw = next.get();

  owner = std::move(next);

  EXPECT_EQ(owner.get(), raw);
  EXPECT_FALSE(is_open(old));
}

TEST(UniqueFd, SurvivesAssignmentToItself) {
  UniqueFd owner(new_descriptor());
  UniqueFd& same = owner;

  owner = std::move(same);

  EXPECT_TRUE(is_open(owner.get()));
}

TEST(UniqueFd, LeavesWhatWasReleasedOpen) {
  int raw = -1;

  {
    UniqueFd owner(new_descriptor());
    raw = owner.release();
    EXPECT_FALSE(owner.valid());
  }

  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

}  // namespace
}  // namespace repobridge::platform
