#include "bridge/admin/bridge_connection.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "bridge/administrator_key.h"
#include "bridge/wire/channel.h"
#include "bridge/wire/frame.h"
#include "bridge/wire/message.h"
#include "platform/random.h"
#include "platform/user.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

namespace codes = policy::codes;
using policy::Json;

constexpr std::size_t kRequestIdBytes = 16;

Failure no_bridge() {
  return policy::refuse(codes::kBridgeUnavailable,
                        "no bridge answers on this configuration's socket; start repobridged, or name the "
                        "bridge.json that it runs with by --config");
}

Result<wire::Request> request_of(const std::string& question, Json arguments) {
  RB_TRY(const auto user, platform::current_user());
  RB_TRY(auto id, platform::random_hex(kRequestIdBytes));
  return wire::Request{.id = std::move(id),
                       .tool = question,
                       .arguments = std::move(arguments),
                       .caller = {.login = user.login, .mode = "admin"}};
}

Result<Json> data_of(wire::Outcome outcome) {
  if (!outcome.is_error) return std::move(outcome.body["data"]);
  const Json& error = outcome.body["error"];
  const auto* code = policy::find_code(error.value("code", ""));
  return policy::refuse(code != nullptr ? *code : codes::kInternalError, error.value("message", ""));
}

asio::awaitable<Result<wire::FromServer>> hear(wire::Channel& channel) {
  RB_CO_TRY(const auto body,
            co_await channel.read(wire::kMaxResultBytes, platform::Deadline::after(wire::kIdleLimit)));
  if (!body) co_return no_bridge();
  co_return wire::decode_from_server(*body);
}

asio::awaitable<Result<Json>> converse(asio::any_io_executor executor, std::string socket_path, wire::Key key,
                                       std::string policy_digest, wire::Request request) {
  auto connected = co_await wire::connect_channel(executor, std::move(socket_path), std::move(key));
  if (!connected) co_return no_bridge();
  wire::Channel& channel = *connected;
  const auto deadline = platform::Deadline::after(wire::kIdleLimit);
  wire::ClientHello hello{.versions = {wire::kProtocolVersion}, .policy_digest = std::move(policy_digest)};
  std::string greeting = wire::encode(hello);
  RB_CO_CHECK(co_await channel.write(std::move(greeting), deadline));
  RB_CO_TRY(auto answer, co_await hear(channel));
  if (std::holds_alternative<wire::ServerHello>(answer)) {
    std::string question = wire::encode(request);
    RB_CO_CHECK(co_await channel.write(std::move(question), deadline));
    do {
      RB_CO_TRY(answer, co_await hear(channel));
    } while (std::holds_alternative<wire::Progress>(answer));
  }
  auto* outcome = std::get_if<wire::Outcome>(&answer);
  if (outcome == nullptr) co_return no_bridge();
  co_return data_of(std::move(*outcome));
}

}  // namespace

Result<Json> ask_bridge(const policy::BridgePolicy& policy, const std::string& question, Json arguments) {
  auto key = bridge::read_administrator_key(policy.state_dir);
  if (!key) return no_bridge();  // it makes one when it starts
  RB_TRY(auto request, request_of(question, std::move(arguments)));
  asio::io_context loop(1);
  std::optional<Result<Json>> answer;
  asio::co_spawn(
      loop,
      converse(loop.get_executor(), policy.socket_path, *std::move(key), policy.digest, std::move(request)),
      [&answer](const std::exception_ptr& exception, Result<Json> answered) {
        if (!exception) answer = std::move(answered);
      });
  loop.run();
  if (!answer) return no_bridge();
  return *std::move(answer);
}

}  // namespace repobridge::admin
