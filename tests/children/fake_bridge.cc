// A bridge that does as it is told: for tests of the front alone.
//
// Takes any number of connections with a real handshake. What the fronts say it reports on standard output,
// one JSON object a line; what it shall say comes the same way on standard input, whose end is its own.
//   out: {"event":"ready"}, and with "call":N each: "hello" (policy_digest, versions), "request" (id, tool,
//        arguments, caller), "cancel", "closed"
//   in:  {"do":"progress","call":N,"elapsed_ms":T}, {"do":"result","call":N,"is_error":B,"body":{…}},
//        {"do":"close","call":N}
// --greeting chooses what a hello is answered with: a hello, a refusal, or the end of the connection.
#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <iostream>
#include <map>
#include <thread>

#include "bridge/wire/channel.h"
#include "bridge/wire/envelope.h"
#include "bridge/wire/frame.h"
#include "bridge/wire/message.h"
#include "platform/local_socket.h"
#include "policy/codes.h"

namespace {

using namespace repobridge;
using policy::Json;

constexpr std::chrono::seconds kPatience{60};

struct Options {
  std::string socket_path;
  std::string key_name;
  std::string key_file;
  std::string digest;
  std::string greeting = "hello";
};

void tell(Json event) { std::cout << policy::dump_json(event) << std::endl; }

void tell(const char* event, int call, Json details = Json::object()) {
  details["event"] = event;
  details["call"] = call;
  tell(std::move(details));
}

// One connection. Shared by the coroutine that reads, the one that writes, and the commands.
struct Call {
  explicit Call(wire::Channel proven) : channel(std::move(proven)) {}
  wire::Channel channel;
  std::deque<std::string> outgoing;
  bool writing = false;
};

class FakeBridge {
 public:
  FakeBridge(asio::io_context& io, Options options, platform::Listener listener,
             std::shared_ptr<const wire::KeyRing> ring)
      : io_(io), options_(std::move(options)), listener_(std::move(listener)), ring_(std::move(ring)) {}

  asio::awaitable<void> accept() {
    asio::local::stream_protocol::acceptor acceptor(io_, asio::local::stream_protocol(),
                                                    ::dup(listener_.fd()));
    tell(Json{{"event", "ready"}});
    for (;;) {
      auto socket = co_await acceptor.async_accept(asio::use_awaitable);
      asio::co_spawn(io_, serve(platform::UniqueFd(socket.release())), asio::detached);
    }
  }

  void obey(const Json& command) {
    const auto found = calls_.find(command.at("call").get<int>());
    if (found == calls_.end()) return;
    const std::shared_ptr<Call> call = found->second;
    const std::string what = command.at("do");
    if (what == "close") {
      call->channel.close();
    } else if (what == "progress") {
      say(call, wire::Progress{.elapsed_ms = command.at("elapsed_ms")});
    } else {
      say(call, wire::Outcome{.is_error = command.at("is_error"), .body = command.at("body")});
    }
  }

 private:
  asio::awaitable<void> serve(platform::UniqueFd connected) {
    auto channel = co_await wire::accept_channel(io_.get_executor(), std::move(connected), ring_);
    if (!channel) co_return;
    const int number = ++last_call_;
    auto call = std::make_shared<Call>(*std::move(channel));
    calls_.emplace(number, call);
    for (;;) {
      const auto frame = co_await call->channel.read(wire::kMaxRequestBytes, std::nullopt);
      if (!frame || !*frame) break;
      const auto message = wire::decode_from_client(**frame);
      if (!message) break;
      hear(number, call, *message);
    }
    tell("closed", number);
    calls_.erase(number);
  }

  void hear(int number, const std::shared_ptr<Call>& call, const wire::FromClient& message) {
    if (const auto* hello = std::get_if<wire::ClientHello>(&message)) {
      tell("hello", number, Json{{"policy_digest", hello->policy_digest}, {"versions", hello->versions}});
      greet(call);
    } else if (const auto* request = std::get_if<wire::Request>(&message)) {
      const Json caller{{"login", request->caller.login}, {"mode", request->caller.mode}};
      tell("request", number,
           Json{{"id", request->id},
                {"tool", request->tool},
                {"arguments", request->arguments},
                {"caller", caller}});
    } else {
      tell("cancel", number);
    }
  }

  void greet(const std::shared_ptr<Call>& call) {
    if (options_.greeting == "close") {
      call->channel.close();
    } else if (options_.greeting == "refuse") {
      const auto refusal = policy::refuse(policy::codes::kPolicyOutOfDate, "render again");
      say(call, wire::Outcome{.is_error = true, .body = wire::error_body(refusal.value())});
    } else {
      say(call, wire::ServerHello{.policy_digest = options_.digest, .generation = "g"});
    }
  }

  void say(const std::shared_ptr<Call>& call, const wire::FromServer& message) {
    call->outgoing.push_back(wire::encode(message));
    if (!call->writing) asio::co_spawn(io_, write_all(call), asio::detached);
  }

  static asio::awaitable<void> write_all(std::shared_ptr<Call> call) {
    call->writing = true;
    while (!call->outgoing.empty()) {
      std::string body = std::move(call->outgoing.front());
      call->outgoing.pop_front();
      (void)co_await call->channel.write(std::move(body), platform::Deadline::after(kPatience));
    }
    call->writing = false;
  }

  asio::io_context& io_;
  Options options_;
  platform::Listener listener_;
  std::shared_ptr<const wire::KeyRing> ring_;
  std::map<int, std::shared_ptr<Call>> calls_;
  int last_call_ = 0;
};

int run(const Options& options) {
  auto key = wire::read_key(options.key_name, options.key_file);
  auto listener = platform::Listener::bind(options.socket_path);
  if (!key || !listener) {
    std::cerr << "fake_bridge: " << (key ? listener.error().message : key.error().message) << "\n";
    return 1;
  }
  auto ring = std::make_shared<wire::KeyRing>();
  ring->emplace(options.key_name, *std::move(key));

  asio::io_context io(1);
  FakeBridge bridge(io, options, *std::move(listener), std::move(ring));
  asio::co_spawn(io, bridge.accept(), asio::detached);
  std::thread commands([&] {
    for (std::string line; std::getline(std::cin, line);) {
      asio::post(io, [&bridge, command = Json::parse(line)] { bridge.obey(command); });
    }
    io.stop();
  });
  io.run();
  commands.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("A bridge that does as it is told");
  app.add_option("--socket", options.socket_path)->required();
  app.add_option("--key-name", options.key_name)->required();
  app.add_option("--key-file", options.key_file)->required();
  app.add_option("--digest", options.digest)->required();
  app.add_option("--greeting", options.greeting)->check(CLI::IsMember({"hello", "refuse", "close"}));
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
