#include "platform/packet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <string>

namespace repobridge::platform {
namespace {

struct Packet : testing::Test {
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours = UniqueFd(ends[0]);
    theirs = UniqueFd(ends[1]);
  }

  std::string receive() {
    const ssize_t got = receive_packet(theirs.get(), buffer, beside);
    return got < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(got));
  }

  UniqueFd ours;
  UniqueFd theirs;
  UniqueFd beside;
  std::array<char, 8> buffer{};
};

TEST_F(Packet, BringsItsText) {
  EXPECT_EQ(send_packet(ours.get(), "one"), 3);
  EXPECT_EQ(send_packet(ours.get(), "two"), 3);

  EXPECT_EQ(receive(), "one");
  EXPECT_FALSE(beside.valid());
  EXPECT_EQ(receive(), "two");
  EXPECT_EQ(receive(), "nothing");
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Packet, BringsADescriptorThatNoProgramInherits) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(send_packet(ours.get(), "with", null.get()), 4);

  EXPECT_EQ(receive(), "with");

  struct stat sent {};
  struct stat received {};
  ASSERT_EQ(::fstat(null.get(), &sent), 0);
  ASSERT_EQ(::fstat(beside.get(), &received), 0);
  EXPECT_EQ(received.st_rdev, sent.st_rdev);
  EXPECT_EQ(::fcntl(beside.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(Packet, LosesWhatIsLongerThanTheBuffer) {
  EXPECT_EQ(send_packet(ours.get(), "much longer"), 11);

  EXPECT_EQ(receive(), "much lon");
  EXPECT_EQ(receive(), "nothing");
}

TEST_F(Packet, SaysThatTheOtherEndIsClosed) {
  ours.reset();
  EXPECT_EQ(receive(), "");
  EXPECT_EQ(send_packet(theirs.get(), "back"), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST_F(Packet, OfNoDescriptorIsNotSent) {
  ours.reset();
  EXPECT_EQ(send_packet(ours.get(), "lost"), -1);
}

}  // namespace
}  // namespace repobridge::platform
