#include "platform/local_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cstring>
#include <thread>

#include "platform/file_lock.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::bytes_of;
using tests::code_of;
using tests::exists;
using tests::mode_of;
using tests::os_code_of;
using tests::TemporaryDirectory;
using tests::value_of;

// A bound socket made by hand, as a bridge that crashed would leave it behind.
UniqueFd bound_socket(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, static_cast<char*>(address.sun_path));
  const auto* any =
      reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  if (::bind(fd.get(), any, sizeof address) != 0) throw std::runtime_error("cannot bind");
  return fd;
}

void leave_stale_socket(const std::string& path) { (void)bound_socket(path); }

UniqueFd accepted(const Listener& listener) {
  pollfd ready{.fd = listener.fd(), .events = POLLIN, .revents = 0};
  (void)::poll(&ready, 1, -1);
  return UniqueFd(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
}

bool answers(const std::string& path) { return connect_local(path).has_value(); }

std::string path_of_length(const TemporaryDirectory& dir, std::size_t length) {
  return dir / std::string(length - dir.path().size() - 1, 's');
}

TEST(Listener, MakesItsDirectoryAndSocketPrivate) {
  const TemporaryDirectory dir;

  const auto listener = value_of(Listener::bind(dir / "run/bridge.sock"));

  EXPECT_EQ(mode_of(dir / "run"), 0700U);
  EXPECT_EQ(mode_of(dir / "run/bridge.sock"), 0600U);
  EXPECT_NE(::fcntl(listener.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(listener.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Listener, HasItsPeerMeasuredByTheKernelOnBothSides) {
  const TemporaryDirectory dir;
  const auto listener = value_of(Listener::bind(dir / "s"));

  const auto near = value_of(connect_local(dir / "s"));
  const auto far = accepted(listener);

  for (const int fd : {near.get(), far.get()}) {
    const auto peer = value_of(peer_of(fd));
    EXPECT_EQ(peer.uid, ::geteuid());
    EXPECT_EQ(peer.gid, ::getegid());
  }
}

TEST(Listener, TakesTheLongestPathAndNotAByteMore) {
  const TemporaryDirectory dir;
  const auto longest = path_of_length(dir, kMaxSocketPathBytes);
  const auto too_long = path_of_length(dir, kMaxSocketPathBytes + 1);

  const auto listener = value_of(Listener::bind(longest));

  EXPECT_TRUE(answers(longest));
  EXPECT_EQ(code_of(Listener::bind(too_long)), "SOCKET_PATH_TOO_LONG");
  EXPECT_EQ(code_of(connect_local(too_long)), "SOCKET_PATH_TOO_LONG");
  EXPECT_FALSE(exists(too_long));
  EXPECT_EQ(code_of(Listener::bind("")), "SOCKET_PATH_TOO_LONG");
}

TEST(Listener, BindsOnlyInsideAPrivateDirectory) {
  const TemporaryDirectory dir;
  for (const mode_t mode : {0755U, 0750U, 0701U, 0777U, 01777U}) {
    const auto open = dir.make("d" + std::to_string(mode), mode);

    EXPECT_EQ(code_of(Listener::bind(open + "/s")), "DIRECTORY_UNSAFE") << std::oct << mode;

    EXPECT_EQ(mode_of(open), mode);
    EXPECT_FALSE(exists(open + "/s"));
  }
  EXPECT_EQ(code_of(Listener::bind("s")), "DIRECTORY_UNSAFE");
  EXPECT_EQ(code_of(Listener::bind("/s")), "DIRECTORY_UNSAFE");
}

TEST(Listener, FollowsNoLinkToItsDirectory) {
  const TemporaryDirectory dir;
  dir.make("real");
  dir.link("link", "real");

  EXPECT_EQ(code_of(Listener::bind(dir / "link/s")), "DIRECTORY_UNSAFE");
}

TEST(Listener, ReplacesASocketWhereNobodyAnswers) {
  const TemporaryDirectory dir;
  leave_stale_socket(dir / "s");
  ASSERT_FALSE(answers(dir / "s"));

  const auto listener = value_of(Listener::bind(dir / "s"));

  EXPECT_TRUE(answers(dir / "s"));
}

TEST(Listener, LeavesALiveSocketAlone) {
  const TemporaryDirectory dir;
  const auto first = value_of(Listener::bind(dir / "s"));

  const auto second = Listener::bind(dir / "s");

  EXPECT_EQ(code_of(second), "SOCKET_PATH_IN_USE");
  EXPECT_EQ(second.error().kind, Kind::conflict);
  const auto near = value_of(connect_local(dir / "s"));
  EXPECT_TRUE(accepted(first).valid());
}

TEST(Listener, CountsAFullQueueAsAnAnswer) {
  const TemporaryDirectory dir;
  const auto busy = bound_socket(dir / "s");
  ASSERT_EQ(::listen(busy.get(), 0), 0);
  std::vector<UniqueFd> waiting;
  auto last = connect_local(dir / "s");
  for (; last; last = connect_local(dir / "s")) waiting.push_back(*std::move(last));
  ASSERT_EQ(os_code_of(last), EAGAIN);

  EXPECT_EQ(code_of(Listener::bind(dir / "s")), "SOCKET_PATH_IN_USE");

  EXPECT_TRUE(exists(dir / "s"));
}

TEST(Listener, LeavesAnOrdinaryFileByteIdentical) {
  const TemporaryDirectory dir;
  const auto path = dir.write("s", "somebody's bytes");

  EXPECT_EQ(code_of(Listener::bind(path)), "SOCKET_PATH_IN_USE");

  EXPECT_EQ(bytes_of(path), "somebody's bytes");
}

TEST(Listener, LeavesWhateverIsNoSocketAlone) {
  const TemporaryDirectory dir;
  leave_stale_socket(dir / "stale");

  EXPECT_EQ(code_of(Listener::bind(dir.make("directory"))), "SOCKET_PATH_IN_USE");
  EXPECT_EQ(code_of(Listener::bind(dir.fifo("pipe"))), "SOCKET_PATH_IN_USE");
  EXPECT_EQ(code_of(Listener::bind(dir.link("dangling", "nothing"))), "SOCKET_PATH_IN_USE");
  EXPECT_EQ(code_of(Listener::bind(dir.link("link", "stale"))), "SOCKET_PATH_IN_USE");

  for (const char* name : {"directory", "pipe", "dangling", "link", "stale"}) EXPECT_TRUE(exists(dir / name));
  EXPECT_FALSE(exists(dir / "nothing"));
}

TEST(Listener, LeavesSomeoneElsesStaleSocketAlone) {
  const TemporaryDirectory dir;
  leave_stale_socket(dir / "s");
  if (::chown((dir / "s").c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can set this stage";

  EXPECT_EQ(code_of(Listener::bind(dir / "s")), "SOCKET_PATH_IN_USE");

  EXPECT_TRUE(exists(dir / "s"));
}

// Between bind(2) and listen(2) a socket looks stale; a second bridge must not remove it then.
TEST(Listener, TakesNobodyForStaleWhoIsStillBinding) {
  const TemporaryDirectory dir;
  const auto turn = value_of(FileLock::try_lock(dir / "s.lock"));
  leave_stale_socket(dir / "s");

  EXPECT_EQ(code_of(Listener::bind(dir / "s")), "SOCKET_PATH_IN_USE");

  EXPECT_TRUE(exists(dir / "s"));
}

TEST(Listener, LetsExactlyOneOfTwoBridgesIn) {
  const TemporaryDirectory dir;
  for (int round = 0; round < 200; ++round) {
    std::barrier<> together(2);
    std::optional<Result<Listener>> first;
    std::optional<Result<Listener>> second;
    const auto start = [&](std::optional<Result<Listener>>& listener) {
      together.arrive_and_wait();
      listener.emplace(Listener::bind(dir / "s"));
    };

    std::thread other([&] { start(second); });
    start(first);
    other.join();

    ASSERT_NE(first->has_value(), second->has_value());
    ASSERT_EQ(code_of(*first) + code_of(*second),
              first->has_value() ? "OKSOCKET_PATH_IN_USE" : "SOCKET_PATH_IN_USEOK");
    ASSERT_TRUE(answers(dir / "s"));
  }
}

TEST(Listener, RemovesItsSocketWhenItGoes) {
  const TemporaryDirectory dir;

  { const auto listener = value_of(Listener::bind(dir / "s")); }

  EXPECT_FALSE(exists(dir / "s"));
}

TEST(Listener, RemovesItsSocketOnceAfterAMove) {
  const TemporaryDirectory dir;
  auto first = std::make_unique<Listener>(value_of(Listener::bind(dir / "s")));

  const Listener second = std::move(*first);
  first.reset();

  EXPECT_TRUE(answers(dir / "s"));
}

TEST(Listener, RemovesOnlyWhatItBound) {
  const TemporaryDirectory dir;

  {
    const auto listener = value_of(Listener::bind(dir / "s"));
    ASSERT_EQ(::rename((dir / "s").c_str(), (dir / "moved").c_str()), 0);
    dir.write("s", "somebody's bytes");
  }

  EXPECT_EQ(bytes_of(dir / "s"), "somebody's bytes");
  EXPECT_TRUE(exists(dir / "moved"));
}

TEST(ConnectLocal, SaysThatNobodyAnswers) {
  const TemporaryDirectory dir;
  leave_stale_socket(dir / "stale");
  dir.write("file", "");

  EXPECT_EQ(code_of(connect_local(dir / "nothing")), "SOCKET_UNREACHABLE");
  EXPECT_EQ(os_code_of(connect_local(dir / "nothing")), ENOENT);
  EXPECT_EQ(os_code_of(connect_local(dir / "stale")), ECONNREFUSED);
  EXPECT_EQ(os_code_of(connect_local(dir / "file")), ECONNREFUSED);
}

TEST(PeerOf, RefusesWhatIsNoSocket) {
  const TemporaryDirectory dir;

  EXPECT_EQ(os_code_of(peer_of(dir.open().get())), ENOTSOCK);
}

}  // namespace
}  // namespace repobridge::platform
