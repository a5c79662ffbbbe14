// Both ends of the doorway at work in one event loop, over real sockets.
#include "bridge/wire/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "bridge/wire/frame.h"
#include "platform/local_socket.h"
#include "tests/unit/bridge/wire/rogue_peer.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::wire {
namespace {

using namespace std::chrono_literals;
using platform::Deadline;
using platform::Listener;
using platform::UniqueFd;
using tests::code_of;
using tests::RoguePeer;
using tests::RogueTls;
using tests::TemporaryDirectory;
using tests::value_of;
using Bytes = std::optional<std::string>;

// Long enough for a test that expects an answer, short enough for one that expects none.
Deadline plenty() { return Deadline::after(30s); }
Deadline moment() { return Deadline::after(30ms); }

constexpr int kTls12 = 0x0303;

Key key_named(const std::string& name, char filling) {
  return {.name = name, .bytes = std::string(kKeyBytes, filling)};
}

class Doorway : public testing::Test {
 protected:
  // --- the two ends ---

  asio::awaitable<UniqueFd> accepted() {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    co_return UniqueFd(socket.release());
  }
  asio::awaitable<Result<Channel>> bridge(Deadline deadline) {
    auto connected = co_await accepted();
    co_return co_await accept_channel(io.get_executor(), std::move(connected), ring, deadline);
  }
  asio::awaitable<Result<Channel>> front(Key own, Deadline deadline) {
    co_return co_await connect_channel(io.get_executor(), path, std::move(own), deadline);
  }
  // A connection to the bridge's socket that says what it likes.
  UniqueFd reached() { return value_of(platform::connect_local(path)); }
  RoguePeer rogue(const RogueTls& tls) { return {io.get_executor(), reached(), tls}; }

  // --- running them ---

  template <class T>
  static asio::awaitable<void> keep(asio::awaitable<T> work, std::optional<T>& kept) {
    kept.emplace(co_await std::move(work));
  }
  static void rethrow(const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  }
  template <class T>
  T run(asio::awaitable<T> work) {
    std::optional<T> kept;
    asio::co_spawn(io, keep(std::move(work), kept), rethrow);
    io.restart();
    io.run();
    return *std::move(kept);
  }
  template <class A, class B>
  std::pair<A, B> run(asio::awaitable<A> first, asio::awaitable<B> second) {
    std::optional<A> a;
    std::optional<B> b;
    asio::co_spawn(io, keep(std::move(first), a), rethrow);
    asio::co_spawn(io, keep(std::move(second), b), rethrow);
    io.restart();
    io.run();
    return {*std::move(a), *std::move(b)};
  }

  struct Pair {
    Channel bridge;
    Channel front;
  };
  Pair proven_pair() {
    auto [at_bridge, at_front] = run(bridge(plenty()), front(key, plenty()));
    return {value_of(std::move(at_bridge)), value_of(std::move(at_front))};
  }
  // A bridge's channel to a peer that holds the key and frames as it likes.
  struct RoguePair {
    Channel bridge;
    RoguePeer front;
  };
  RoguePair rogue_pair() {
    auto peer = rogue({.key = key});
    auto [at_bridge, reached_it] = run(bridge(plenty()), peer.handshake());
    if (!reached_it) throw std::runtime_error("the rogue's own handshake failed");
    return {value_of(std::move(at_bridge)), std::move(peer)};
  }

  static asio::awaitable<bool> written(RoguePeer& peer, std::string bytes) {
    co_await peer.write(std::move(bytes));
    co_return true;
  }

  // Whatever came before: the next good call works.
  void expect_good_call() {
    auto [at_bridge, at_front] = run(bridge(plenty()), front(key, plenty()));
    ASSERT_EQ(code_of(at_bridge), "OK");
    ASSERT_EQ(code_of(at_front), "OK");
    EXPECT_EQ(sent(*at_front, *at_bridge, "a request"), "a request");
    EXPECT_EQ(sent(*at_bridge, *at_front, "a result"), "a result");
  }
  // What arrives of a frame, or its refusal.
  std::string sent(Channel& from, Channel& to, const std::string& body) {
    auto [wrote, got] = run(from.write(body, plenty()), to.read(kMaxResultBytes, plenty()));
    if (!wrote) return "not written: " + wrote.error().code;
    if (!got) return "not read: " + got.error().code;
    return got->value_or("the end");
  }

  TemporaryDirectory dir;
  std::string path = dir / "s";
  Key key = key_named("front", 'k');
  std::shared_ptr<const KeyRing> ring =
      std::make_shared<KeyRing>(KeyRing{{"front", key}, {"other", key_named("other", 'o')}});
  asio::io_context io{1};
  Listener listener = value_of(Listener::bind(path));
  asio::local::stream_protocol::acceptor acceptor{io, asio::local::stream_protocol(), ::dup(listener.fd())};
};

// --- the proofs --------------------------------------------------------------------------------------------

TEST_F(Doorway, OpensForTheKeyAndNamesThePeer) {
  auto pair = proven_pair();

  EXPECT_EQ(pair.bridge.peer().key_name(), "front");
  EXPECT_EQ(pair.front.peer().key_name(), "front");
  EXPECT_EQ(sent(pair.front, pair.bridge, "up"), "up");
  EXPECT_EQ(sent(pair.bridge, pair.front, "down"), "down");
}

TEST_F(Doorway, TellsTheHoldersOfItsKeysApart) {
  auto [at_bridge, at_front] = run(bridge(plenty()), front(key_named("other", 'o'), plenty()));

  EXPECT_EQ(value_of(std::move(at_bridge)).peer().key_name(), "other");
  EXPECT_EQ(code_of(at_front), "OK");
}

TEST_F(Doorway, StaysShutForAnotherKey) {
  for (const auto& wrong : {key_named("front", 'x'), key_named("front", 'o'), key_named("unknown", 'k'),
                            key_named("other", 'k'), key_named("Front", 'k'), key_named("fron", 'k')}) {
    auto [at_bridge, at_front] = run(bridge(plenty()), front(wrong, plenty()));

    EXPECT_EQ(code_of(at_bridge), "PEER_UNPROVEN") << wrong.name;
    EXPECT_EQ(code_of(at_front), "PEER_UNPROVEN") << wrong.name;
    expect_good_call();
  }
}

TEST_F(Doorway, SaysTheSameOfAWrongKeyAndAnUnknownName) {
  const auto wrong_key = run(bridge(plenty()), front(key_named("front", 'x'), plenty()));
  const auto unknown_name = run(bridge(plenty()), front(key_named("unknown", 'k'), plenty()));

  EXPECT_EQ(tests::message_of(wrong_key.second), tests::message_of(unknown_name.second));
  EXPECT_EQ(tests::message_of(wrong_key.first), tests::message_of(unknown_name.first));
}

TEST_F(Doorway, StaysShutForAClientWithoutAKey) {
  for (const auto& tls : {RogueTls{}, RogueTls{.certificate = true}, RogueTls{.version = kTls12},
                          RogueTls{.ciphersuites = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"}}) {
    auto peer = rogue(tls);

    auto [at_bridge, through] = run(bridge(plenty()), peer.handshake());

    EXPECT_EQ(code_of(at_bridge), "PEER_UNPROVEN");
    EXPECT_FALSE(through);
    expect_good_call();
  }
}

TEST_F(Doorway, StaysShutForTheKeyUnderAnotherCipher) {
  auto peer = rogue({.key = key, .ciphersuites = "TLS_CHACHA20_POLY1305_SHA256"});

  auto [at_bridge, through] = run(bridge(plenty()), peer.handshake());

  EXPECT_EQ(code_of(at_bridge), "PEER_UNPROVEN");
  EXPECT_FALSE(through);
  expect_good_call();
}

// Whoever takes the socket's place with a certificate of its own, but without the key.
TEST_F(Doorway, LeadsAFrontToNoServerThatHasACertificateOnly) {
  const auto impostor = [&]() -> asio::awaitable<bool> {
    auto connected = co_await accepted();
    const RogueTls tls{.server = true, .certificate = true};
    RoguePeer peer(io.get_executor(), std::move(connected), tls);
    co_return co_await peer.handshake();
  };

  auto [through, at_front] = run(impostor(), front(key, plenty()));

  EXPECT_FALSE(through);
  EXPECT_EQ(code_of(at_front), "PEER_UNPROVEN");
  expect_good_call();
}

TEST_F(Doorway, AnswersNothingInClear) {
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100000, '\0'),
        frame_of(R"({"type":"hello","versions":[1],"policy_digest":""})"),
        std::string("\x16\x03\x01\xff\xff", 5), std::string("x")}) {
    auto raw = reached();
    value_of(platform::write_all(raw.get(), garbage.substr(0, 60000)));
    ASSERT_EQ(::shutdown(raw.get(), SHUT_WR), 0);

    auto at_bridge = run(bridge(plenty()));

    EXPECT_EQ(code_of(at_bridge), "PEER_UNPROVEN");
    expect_good_call();
  }
}

TEST_F(Doorway, LeadsAFrontToNoServerThatTalksInClear) {
  const auto impostor = [&]() -> asio::awaitable<bool> {
    auto connected = co_await accepted();
    value_of(platform::write_all(connected.get(), frame_of(R"({"type":"hello"})")));
    co_return true;
  };

  auto [talked, at_front] = run(impostor(), front(key, plenty()));

  EXPECT_TRUE(talked);
  EXPECT_EQ(code_of(at_front), "PEER_UNPROVEN");
  expect_good_call();
}

TEST_F(Doorway, ForgetsWhoeverHangsUpAtOnce) {
  reached().reset();

  EXPECT_EQ(code_of(run(bridge(plenty()))), "PEER_UNPROVEN");
  expect_good_call();
}

TEST_F(Doorway, WaitsForASilentPeerToItsDeadlineOnly) {
  const auto silent = reached();

  EXPECT_EQ(code_of(run(bridge(moment()))), "WIRE_TIMEOUT");
  expect_good_call();
}

TEST_F(Doorway, WaitsForASilentBridgeToItsDeadlineOnly) {
  UniqueFd kept;
  const auto silent = [&]() -> asio::awaitable<bool> {
    kept = co_await accepted();
    co_return true;
  };

  auto [accepted_it, at_front] = run(silent(), front(key, moment()));

  EXPECT_TRUE(accepted_it);
  EXPECT_EQ(code_of(at_front), "WIRE_TIMEOUT");
  expect_good_call();
}

TEST_F(Doorway, GivesASlowPeerNoLongerForItsPieces) {
  auto peer = rogue({.key = key});
  const auto drip = [&]() -> asio::awaitable<bool> {
    co_await peer.write_in_clear("\x16\x03\x01");  // the beginning of a handshake that never goes on
    co_return true;
  };

  auto [at_bridge, wrote] = run(bridge(moment()), drip());

  EXPECT_TRUE(wrote);
  EXPECT_EQ(code_of(at_bridge), "WIRE_TIMEOUT");
  expect_good_call();
}

// As the kernel tells it, whatever key the other side holds.
class OtherUser {
 public:
  OtherUser() : changed_(::geteuid() == 0 && ::seteuid(12345) == 0) {}
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;
  ~OtherUser() {
    if (changed_) (void)!::seteuid(0);
  }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  bool changed_;
};

TEST_F(Doorway, StaysShutForAnotherUser) {
  std::array<int, 2> ends{-1, -1};
  {
    const OtherUser other;
    if (!other.changed()) GTEST_SKIP() << "only root can set this stage";
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  }
  RoguePeer peer(io.get_executor(), UniqueFd(ends[1]), {.key = key});

  auto [at_bridge, through] =
      run(accept_channel(io.get_executor(), UniqueFd(ends[0]), ring, plenty()), peer.handshake());

  EXPECT_EQ(code_of(at_bridge), "PEER_UNPROVEN");
  EXPECT_FALSE(through);
  expect_good_call();
}

TEST_F(Doorway, LeadsAFrontToNoOtherUsersServer) {
  const UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(dir / "planted", static_cast<char*>(address.sun_path));
  const auto* any =
      reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  ASSERT_EQ(::bind(server.get(), any, sizeof address), 0);
  {
    const OtherUser other;
    if (!other.changed()) GTEST_SKIP() << "only root can set this stage";
    ASSERT_EQ(::listen(server.get(), 1), 0);
  }

  auto at_front = run(connect_channel(io.get_executor(), dir / "planted", key, plenty()));

  EXPECT_EQ(code_of(at_front), "PEER_UNPROVEN");
}

TEST_F(Doorway, SaysThatNoBridgeAnswers) {
  const auto at = [&](const std::string& where) {
    return code_of(run(connect_channel(io.get_executor(), where, key, plenty())));
  };
  dir.write("file", "");

  EXPECT_EQ(at(dir / "nothing"), "BRIDGE_UNAVAILABLE");
  EXPECT_EQ(at(dir / "file"), "BRIDGE_UNAVAILABLE");
  EXPECT_EQ(at(dir / std::string(200, 'x')), "BRIDGE_UNAVAILABLE");
}

TEST_F(Doorway, WaitsWhileTheBridgesQueueIsFullToItsDeadlineOnly) {
  std::vector<UniqueFd> waiting;
  auto last = platform::connect_local(path);
  for (; last; last = platform::connect_local(path)) waiting.push_back(*std::move(last));
  ASSERT_EQ(tests::os_code_of(last), EAGAIN);

  EXPECT_EQ(code_of(run(front(key, moment()))), "BRIDGE_UNAVAILABLE");

  // The bridge catches up while the front is waiting.
  const auto drain = [&]() -> asio::awaitable<Result<Channel>> {
    for (std::size_t i = 0; i < waiting.size(); ++i) (void)co_await accepted();
    co_return co_await bridge(plenty());
  };
  auto [at_bridge, at_front] = run(drain(), front(key, plenty()));
  EXPECT_EQ(code_of(at_bridge), "OK");
  EXPECT_EQ(code_of(at_front), "OK");
}

TEST_F(Doorway, TakesOverNoDescriptorThatIsNoSocket) {
  const auto file = dir.write("file", "");

  EXPECT_FALSE(run(accept_channel(io.get_executor(), UniqueFd(), ring, plenty())));
  EXPECT_FALSE(run(accept_channel(io.get_executor(), UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)),
                                  ring, plenty())));
  expect_good_call();
}

TEST_F(Doorway, KeepsNoKeyOfAConnectionForTheNext) {
  { auto pair = proven_pair(); }
  ring = std::make_shared<KeyRing>();

  auto [at_bridge, at_front] = run(bridge(plenty()), front(key, plenty()));

  EXPECT_EQ(code_of(at_bridge), "PEER_UNPROVEN");
  EXPECT_EQ(code_of(at_front), "PEER_UNPROVEN");
}

// --- frames ------------------------------------------------------------------------------------------------

TEST_F(Doorway, CarriesFramesToTheLimitOfTheirDirection) {
  auto pair = proven_pair();

  for (const std::size_t size :
       {std::size_t{1}, std::size_t{16384}, std::size_t{16385}, kMaxRequestBytes, kMaxResultBytes}) {
    const std::string body(size, 'b');
    EXPECT_EQ(sent(pair.front, pair.bridge, body), body) << size;
  }
}

TEST_F(Doorway, RefusesAFrameOneByteBeyondTheLimit) {
  auto pair = proven_pair();

  auto [wrote, exact] = run(pair.front.write("12345", plenty()), pair.bridge.read(5, plenty()));
  auto [wrote_more, more] = run(pair.front.write("123456", plenty()), pair.bridge.read(5, plenty()));

  EXPECT_EQ(value_of(std::move(exact)), "12345");
  EXPECT_EQ(code_of(more), "REQUEST_TOO_LARGE");
}

TEST_F(Doorway, RefusesAnEnormousFrameByItsHeaderAlone) {
  for (const char* header : {"\xFF\xFF\xFF\xFF", "\x80\x00\x00\x00"}) {
    auto pair = rogue_pair();

    auto [wrote, got] =
        run(written(pair.front, std::string(header, 4)), pair.bridge.read(kMaxRequestBytes, plenty()));

    EXPECT_EQ(code_of(got), "REQUEST_TOO_LARGE");
  }
  expect_good_call();
}

TEST_F(Doorway, RefusesAnEmptyFrame) {
  auto pair = rogue_pair();

  auto [wrote, got] =
      run(written(pair.front, std::string(4, '\0')), pair.bridge.read(kMaxRequestBytes, plenty()));

  EXPECT_EQ(code_of(got), "INVALID_REQUEST");
  expect_good_call();
}

TEST_F(Doorway, PutsPiecesTogetherAndTakesFramesApart) {
  auto pair = rogue_pair();
  const std::string body(10000, 'b');
  const auto in_pieces = [&]() -> asio::awaitable<bool> {
    const auto frame = frame_of(body);
    for (std::size_t at = 0; at < frame.size(); at += 999) co_await pair.front.write(frame.substr(at, 999));
    co_await pair.front.write(frame_of("second") + frame_of("third"));
    co_return true;
  };

  auto [wrote, first] = run(in_pieces(), pair.bridge.read(kMaxRequestBytes, plenty()));

  EXPECT_EQ(value_of(std::move(first)), body);
  EXPECT_EQ(value_of(run(pair.bridge.read(kMaxRequestBytes, plenty()))), "second");
  EXPECT_EQ(value_of(run(pair.bridge.read(kMaxRequestBytes, plenty()))), "third");
}

TEST_F(Doorway, TellsAnEndBetweenFramesFromOneInside) {
  const std::string frame = frame_of("body");
  for (std::size_t kept = 0; kept < frame.size(); ++kept) {
    for (const bool politely : {true, false}) {
      auto pair = rogue_pair();
      const auto cut_short = [&]() -> asio::awaitable<bool> {
        if (kept > 0) co_await pair.front.write(frame.substr(0, kept));
        if (politely) co_await pair.front.shut_down();
        const RoguePeer gone = std::move(pair.front);
        co_return true;
      };
      const auto closing_reader = [&]() -> asio::awaitable<Result<Bytes>> {
        auto got = co_await pair.bridge.read(kMaxRequestBytes, plenty());
        pair.bridge.close();
        co_return got;
      };

      auto [cut, got] = run(cut_short(), closing_reader());

      if (kept == 0) {
        EXPECT_EQ(value_of(std::move(got)), std::nullopt) << politely;
      } else {
        EXPECT_EQ(code_of(got), "INVALID_REQUEST") << kept << " " << politely;
      }
    }
  }
  expect_good_call();
}

// The kernel says ECONNRESET where the one who left had not read everything.
TEST_F(Doorway, TakesAPeerThatLeavesUnreadAnswersForAnEnd) {
  auto pair = proven_pair();
  value_of(run(pair.bridge.write("a sign of life that nobody reads", plenty())));

  { const Channel gone = std::move(pair.front); }

  EXPECT_EQ(value_of(run(pair.bridge.read(kMaxRequestBytes, plenty()))), std::nullopt);
  expect_good_call();
}

TEST_F(Doorway, NoticesWhoeverStaysSilent) {
  auto pair = proven_pair();

  EXPECT_EQ(code_of(run(pair.bridge.read(kMaxRequestBytes, moment()))), "WIRE_TIMEOUT");
  expect_good_call();
}

TEST_F(Doorway, NoticesWhoeverStopsInsideAFrame) {
  auto pair = rogue_pair();

  auto [wrote, got] =
      run(written(pair.front, frame_of("body").substr(0, 6)), pair.bridge.read(kMaxRequestBytes, moment()));

  EXPECT_EQ(code_of(got), "WIRE_TIMEOUT");
  expect_good_call();
}

TEST_F(Doorway, NoticesWhoeverReadsNothing) {
  auto pair = proven_pair();

  EXPECT_EQ(code_of(run(pair.bridge.write(std::string(kMaxResultBytes, 'b'), moment()))), "WIRE_TIMEOUT");
  expect_good_call();
}

TEST_F(Doorway, ReportsAWriteToWhoeverIsGone) {
  auto pair = proven_pair();
  { const Channel gone = std::move(pair.front); }

  EXPECT_EQ(code_of(run(pair.bridge.write("body", plenty()))), "INVALID_REQUEST");
}

TEST_F(Doorway, WaitsWithoutADeadlineUntilItIsClosed) {
  auto pair = proven_pair();
  const auto closing = [&]() -> asio::awaitable<bool> {
    pair.bridge.close();
    co_return true;
  };

  auto [got, closed] = run(pair.bridge.read(kMaxRequestBytes, std::nullopt), closing());

  EXPECT_FALSE(got);
  EXPECT_FALSE(run(pair.bridge.write("body", plenty())));
}

TEST_F(Doorway, CarriesFramesBothWays) {
  auto pair = proven_pair();
  const auto both = [](Channel& channel) -> asio::awaitable<std::string> {
    std::string got;
    for (int i = 0; i < 20; ++i) {
      (void)co_await channel.write("frame " + std::to_string(i) + std::string(50000, ' '), plenty());
      auto frame = co_await channel.read(kMaxRequestBytes, plenty());
      got += frame.value().value_or("the end").substr(0, 8);
    }
    co_return got;
  };

  auto [at_bridge, at_front] = run(both(pair.bridge), both(pair.front));

  EXPECT_EQ(at_bridge, at_front);
  EXPECT_TRUE(at_bridge.ends_with("frame 19"));
}

// As a bridge does that waits for a cancel and sends signs of life meanwhile.
TEST_F(Doorway, ReadsAndWritesAtOnce) {
  auto pair = proven_pair();
  const auto others = [&]() -> asio::awaitable<bool> {
    for (int i = 0; i < 5; ++i) {
      (void)co_await pair.bridge.write("progress", plenty());
      (void)co_await pair.front.read(kMaxResultBytes, plenty());
    }
    (void)co_await pair.front.write("cancel", plenty());
    co_return true;
  };

  auto [got, done] = run(pair.bridge.read(kMaxRequestBytes, plenty()), others());

  EXPECT_EQ(value_of(std::move(got)), "cancel");
}

TEST_F(Doorway, KeepsItsConnectionsApart) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 10; ++i) pairs.push_back(proven_pair());

  for (std::size_t i = 0; i < pairs.size(); ++i)
    value_of(run(pairs[i].front.write(std::to_string(i), plenty())));

  for (std::size_t i = pairs.size(); i-- > 0;) {
    EXPECT_EQ(value_of(run(pairs[i].bridge.read(kMaxRequestBytes, plenty()))), std::to_string(i));
  }
}

}  // namespace
}  // namespace repobridge::wire
