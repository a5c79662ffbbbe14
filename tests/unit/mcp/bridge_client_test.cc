#include "mcp/bridge_client.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "bridge/wire/frame.h"
#include "platform/local_socket.h"
#include "tests/unit/mcp/temp_directory.h"

namespace repobridge::mcp {
namespace {

using platform::Deadline;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience{20};

const wire::Outcome kSuccess{.is_error = false, .body = policy::Json{{"status", 200}}};
const wire::ServerHello kHello{.policy_digest = "digest", .generation = "g"};

wire::Request sample_request() {
  return {.id = std::string(32, 'a'),
          .tool = "push_repo",
          .arguments = policy::Json{{"workdir", "app"}},
          .caller = {.login = "someone", .mode = "stdio"}};
}

// What the bridge's end of the one connection sees and says.
class BridgeEnd {
 public:
  explicit BridgeEnd(wire::Channel channel) : channel_(std::move(channel)) {}

  // The next message, or nothing at the end of the stream.
  asio::awaitable<std::optional<wire::FromClient>> hear() {
    auto frame = co_await channel_.read(wire::kMaxRequestBytes, Deadline::after(kPatience));
    if (!frame || !*frame) co_return std::nullopt;
    auto message = wire::decode_from_client(**frame);
    if (!message) co_return std::nullopt;
    co_return *std::move(message);
  }
  asio::awaitable<void> say(wire::FromServer message) {
    std::string body = wire::encode(message);
    co_await say_bytes(std::move(body));
  }
  asio::awaitable<void> say_bytes(std::string body) {
    const auto written = co_await channel_.write(std::move(body), Deadline::after(kPatience));
    left_ = !written;
  }
  // Whether the front did not hear what was said last.
  [[nodiscard]] bool left() const { return left_; }

 private:
  wire::Channel channel_;
  bool left_ = false;
};

using Script = std::function<asio::awaitable<void>(BridgeEnd&)>;

class BridgeClientCall : public testing::Test {
 protected:
  BridgeClientCall() {
    EXPECT_TRUE(wire::create_key(options.address.key_file));
    EXPECT_TRUE(wire::create_key(directory / "other.key"));
  }

  // A bridge that takes one connection and follows the script on it.
  void serve(Script script, std::string key_file = {}) {
    auto ring = std::make_shared<wire::KeyRing>();
    if (key_file.empty()) key_file = options.address.key_file;
    ring->emplace("front", *wire::read_key("front", key_file));
    listener.emplace(*platform::Listener::bind(options.address.socket_path));
    asio::co_spawn(io, accept_one(std::move(ring), std::move(script)), asio::detached);
  }

  asio::awaitable<void> accept_one(std::shared_ptr<const wire::KeyRing> ring, Script script) {
    asio::local::stream_protocol::acceptor acceptor(io, asio::local::stream_protocol(),
                                                    ::dup(listener->fd()));
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    platform::UniqueFd connected(socket.release());
    auto channel = co_await wire::accept_channel(io.get_executor(), std::move(connected), std::move(ring));
    if (!channel) co_return;
    BridgeEnd end(*std::move(channel));
    co_await script(end);
  }

  Result<wire::Outcome> call(wire::Request request = sample_request()) {
    BridgeClient client(io.get_executor(), options);
    std::optional<Result<wire::Outcome>> outcome;
    cancel = client.start(std::move(request), {.progress =
                                                   [this](const wire::Progress& sign) {
                                                     progress.push_back(sign.elapsed_ms);
                                                     if (cancel_at_progress) cancel();
                                                   },
                                               .ended =
                                                   [&outcome](Result<wire::Outcome> ended) {
                                                     EXPECT_FALSE(outcome.has_value()) << "ended twice";
                                                     outcome = std::move(ended);
                                                   }});
    EXPECT_FALSE(outcome.has_value()) << "ended from within start()";
    if (cancel_at_once) cancel();
    io.run();
    return outcome ? *outcome : fail(Error{.code = "never ended"});
  }

  std::string code_of_call() {
    const auto outcome = call();
    return outcome ? "" : outcome.error().code;
  }

  TempDirectory directory;
  BridgeClient::Options options{.address = {.name = "local",
                                            .socket_path = directory / "run/bridge.sock",
                                            .key_name = "front",
                                            .key_file = directory / "front.key"},
                                .policy_digest = "digest"};
  asio::io_context io{1};
  std::optional<platform::Listener> listener;
  std::vector<std::int64_t> progress;
  CancelCall cancel;
  bool cancel_at_once = false;
  bool cancel_at_progress = false;
};

// Hello and request; what the front asked is left in `asked`.
asio::awaitable<void> take_request(BridgeEnd& bridge, wire::Request& asked) {
  (void)co_await bridge.hear();
  co_await bridge.say(kHello);
  auto request = co_await bridge.hear();
  if (request && std::holds_alternative<wire::Request>(*request)) asked = std::get<wire::Request>(*request);
}

TEST_F(BridgeClientCall, HandsBackTheOutcomeAndWhatWasHeardMeanwhile) {
  wire::Request asked;
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    co_await take_request(bridge, asked);
    const wire::Progress first{.elapsed_ms = 10};
    const wire::Progress second{.elapsed_ms = 20};
    co_await bridge.say(first);
    co_await bridge.say(second);
    co_await bridge.say(kSuccess);
  });

  const auto outcome = call();

  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->body, kSuccess.body);
  EXPECT_EQ(progress, (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(asked.id, sample_request().id);
  EXPECT_EQ(asked.arguments, sample_request().arguments);
  EXPECT_EQ(asked.caller.login, "someone");
}

TEST_F(BridgeClientCall, OffersItsVersionAndDigest) {
  std::optional<wire::FromClient> greeting;
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> { greeting = co_await bridge.hear(); });

  EXPECT_EQ(code_of_call(), "BRIDGE_UNAVAILABLE");
  ASSERT_TRUE(greeting.has_value());
  const auto& hello = std::get<wire::ClientHello>(*greeting);
  EXPECT_EQ(hello.policy_digest, "digest");
  EXPECT_EQ(hello.versions, (std::vector<std::int64_t>{wire::kProtocolVersion}));
}

TEST_F(BridgeClientCall, IsRefusedByABridgeOfAnotherRendering) {
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    (void)co_await bridge.hear();
    const wire::ServerHello other{.policy_digest = "another", .generation = "g"};
    co_await bridge.say(other);
  });

  EXPECT_EQ(code_of_call(), "POLICY_OUT_OF_DATE");
}

TEST_F(BridgeClientCall, PassesOnARefusalInPlaceOfTheHello) {
  const wire::Outcome refusal{.is_error = true,
                              .body = policy::Json{{"error", {{"code", "POLICY_OUT_OF_DATE"}}}}};
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    (void)co_await bridge.hear();
    co_await bridge.say(refusal);
  });

  const auto outcome = call();

  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->is_error);
  EXPECT_EQ(outcome->body, refusal.body);
}

TEST_F(BridgeClientCall, TakesNoSuccessInPlaceOfTheHello) {
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    (void)co_await bridge.hear();
    co_await bridge.say(kSuccess);
  });

  EXPECT_EQ(code_of_call(), "BRIDGE_UNAVAILABLE");
}

TEST_F(BridgeClientCall, SaysThatNoBridgeAnswers) { EXPECT_EQ(code_of_call(), "BRIDGE_UNAVAILABLE"); }

TEST_F(BridgeClientCall, DoesNotTalkToABridgeWithAnotherKey) {
  bool served = false;
  serve(
      [&](BridgeEnd&) -> asio::awaitable<void> {
        served = true;
        co_return;
      },
      directory / "other.key");

  const auto outcome = call();

  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, "BRIDGE_UNAVAILABLE");
  EXPECT_NE(outcome.error().message.find("did not prove"), std::string::npos);
  EXPECT_FALSE(served);
}

TEST_F(BridgeClientCall, GivesUpOnABridgeThatDoesNotGreet) {
  options.hello_limit = milliseconds(50);
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    (void)co_await bridge.hear();
    (void)co_await bridge.hear();
  });

  const auto outcome = call();

  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, "BRIDGE_UNAVAILABLE");
  EXPECT_EQ(outcome.error().details, nullptr);
}

TEST_F(BridgeClientCall, SaysThatTheOutcomeIsUnknownWhenTheBridgeFallsSilent) {
  options.idle_limit = milliseconds(50);
  wire::Request asked;
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    co_await take_request(bridge, asked);
    (void)co_await bridge.hear();
  });

  const auto outcome = call();

  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, "BRIDGE_UNAVAILABLE");
  ASSERT_NE(outcome.error().details, nullptr);
  EXPECT_EQ(*outcome.error().details, (policy::Json{{"outcome", "unknown"}, {"request_id", asked.id}}));
}

TEST_F(BridgeClientCall, IsKeptAliveByProgress) {
  options.idle_limit = milliseconds(1000);
  wire::Request asked;
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    co_await take_request(bridge, asked);
    asio::steady_timer timer(io);
    for (int i = 1; i <= 5; ++i) {
      timer.expires_after(milliseconds(250));
      co_await timer.async_wait(asio::use_awaitable);
      const wire::Progress sign{.elapsed_ms = i * 250};
      co_await bridge.say(sign);
    }
    co_await bridge.say(kSuccess);
  });

  EXPECT_TRUE(call().has_value());
  EXPECT_EQ(progress.size(), 5U);
}

TEST_F(BridgeClientCall, EndsInTimeWhateverSignsOfLifeThereAre) {
  options.answer_limit = milliseconds(500);
  wire::Request asked;
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    co_await take_request(bridge, asked);
    asio::steady_timer timer(io);
    for (int i = 1; !bridge.left(); ++i) {
      timer.expires_after(milliseconds(20));
      co_await timer.async_wait(asio::use_awaitable);
      const wire::Progress sign{.elapsed_ms = i};
      co_await bridge.say(sign);
    }
  });

  const auto outcome = call();

  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, "BRIDGE_UNAVAILABLE");
  ASSERT_NE(outcome.error().details, nullptr);
  EXPECT_EQ((*outcome.error().details)["outcome"], "unknown");
}

TEST_F(BridgeClientCall, SaysThatTheOutcomeIsUnknownWhenTheBridgeEnds) {
  wire::Request asked;
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> { co_await take_request(bridge, asked); });

  const auto outcome = call();

  ASSERT_FALSE(outcome.has_value());
  ASSERT_NE(outcome.error().details, nullptr);
  EXPECT_EQ((*outcome.error().details)["outcome"], "unknown");
}

TEST_F(BridgeClientCall, TakesNothingButProgressAndAnOutcomeAfterTheRequest) {
  for (const std::string& body : {std::string("nonsense"), wire::encode(kHello)}) {
    wire::Request asked;
    io.restart();
    listener.reset();
    serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
      co_await take_request(bridge, asked);
      co_await bridge.say_bytes(body);
      (void)co_await bridge.hear();
    });

    EXPECT_EQ(code_of_call(), "BRIDGE_UNAVAILABLE") << body;
  }
}

TEST_F(BridgeClientCall, PassesACancelOnAndStillHearsTheOutcome) {
  cancel_at_progress = true;
  std::optional<wire::FromClient> heard;
  wire::Request asked;
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    co_await take_request(bridge, asked);
    const wire::Progress sign{.elapsed_ms = 1};
    co_await bridge.say(sign);
    heard = co_await bridge.hear();
    co_await bridge.say(kSuccess);
  });

  EXPECT_TRUE(call().has_value());
  ASSERT_TRUE(heard.has_value());
  EXPECT_TRUE(std::holds_alternative<wire::Cancel>(*heard));
  cancel();  // after the end it does nothing
}

TEST_F(BridgeClientCall, SendsNoRequestThatWasCancelledBefore) {
  cancel_at_once = true;
  std::optional<wire::FromClient> heard = wire::FromClient();
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    (void)co_await bridge.hear();
    co_await bridge.say(kHello);
    heard = co_await bridge.hear();
  });

  EXPECT_EQ(code_of_call(), "CALL_CANCELLED");
  EXPECT_FALSE(heard.has_value());
}

TEST_F(BridgeClientCall, DoesNotSendWhatTheBridgeWouldNotRead) {
  serve([&](BridgeEnd& bridge) -> asio::awaitable<void> {
    (void)co_await bridge.hear();
    co_await bridge.say(kHello);
    (void)co_await bridge.hear();
  });
  wire::Request request = sample_request();
  request.arguments["message"] = std::string(wire::kMaxRequestBytes, 'x');

  const auto outcome = call(std::move(request));

  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, "REQUEST_TOO_LARGE");
}

TEST_F(BridgeClientCall, NeedsAKeyThatOnlyThisUserCanRead) {
  ASSERT_EQ(::chmod(options.address.key_file.c_str(), 0640), 0);
  EXPECT_EQ(code_of_call(), "KEY_UNSAFE");

  io.restart();
  options.address.key_file = directory / "none";
  EXPECT_EQ(code_of_call(), "KEY_UNREADABLE");

  io.restart();
  options.address.key_file = directory / "none/none";
  EXPECT_EQ(code_of_call(), "KEY_UNREADABLE");
}

}  // namespace
}  // namespace repobridge::mcp
