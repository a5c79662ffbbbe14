#include "mcp/bridge_client.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>

#include "bridge/wire/frame.h"
#include "bridge/wire/key.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

namespace codes = policy::codes;
using platform::Deadline;

Failure unavailable(std::string message) {
  return policy::refuse(codes::kBridgeUnavailable, std::move(message));
}

Failure unreadable_bridge() {
  return unavailable("the bridge said what this front does not understand; install both from one release");
}

Failure about_connection(const Error& error) {
  if (error.code == codes::kPeerUnproven.name) {
    return unavailable(
        "what answers on the bridge's socket did not prove that it holds this front's key; give both the "
        "same "
        "key file and restart repobridged");
  }
  if (error.code == codes::kWireTimeout.name) {
    return unavailable(
        "the bridge did not answer in time; try again, and if it stays so restart repobridged");
  }
  if (error.code == codes::kBridgeUnavailable.name) return fail(error);
  return unavailable("the connection to the bridge failed; see that repobridged runs and try again");
}

Failure out_of_date() {
  return policy::refuse(
      codes::kPolicyOutOfDate,
      "front and bridge were configured by different renderings; run `repobridge render`, then "
      "restart repobridged and this MCP server");
}

// One call. It outlives its coroutine in the hands of whoever may still cancel it, hence the shared
// ownership.
class BridgeCall {
 public:
  BridgeCall(asio::any_io_executor executor, BridgeClient::Options options, wire::Request request,
             CallHandlers handlers)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        request_(std::move(request)),
        handlers_(std::move(handlers)),
        latest_(Deadline::after(options_.answer_limit - handlers_.waited)) {}

  static asio::awaitable<void> run(std::shared_ptr<BridgeCall> call) {
    co_await asio::post(call->executor_, asio::use_awaitable);
    auto outcome = co_await call->perform();
    call->end(std::move(outcome));
  }

  static asio::awaitable<Result<void>> probe(std::shared_ptr<BridgeCall> call) {
    RB_CO_CHECK(co_await call->connect());
    auto refused = co_await call->greet();
    if (!refused) co_return fail(std::move(refused).error());
    if (!*refused) co_return Result<void>();
    co_return policy::refuse(codes::kBridgeUnavailable, "the bridge refuses this front");
  }

  void cancel() {
    if (cancelled_) return;
    cancelled_ = true;
    if (sent_ && channel_) asio::co_spawn(executor_, write_cancel(channel_), asio::detached);
  }

  void end(Result<wire::Outcome> outcome) {
    channel_.reset();
    const auto handlers = std::exchange(handlers_, {});
    if (handlers.ended) handlers.ended(std::move(outcome));
  }

 private:
  asio::awaitable<Result<void>> connect() {
    auto key = wire::read_key(options_.address.key_name, options_.address.key_file);
    if (!key) co_return fail(std::move(key).error());
    auto connected = co_await wire::connect_channel(executor_, options_.address.socket_path, *std::move(key));
    if (!connected) co_return about_connection(connected.error());
    channel_ = std::make_shared<wire::Channel>(*std::move(connected));
    co_return Result<void>();
  }

  asio::awaitable<Result<wire::Outcome>> perform() {
    RB_CO_CHECK(co_await connect());
    auto refused = co_await greet();
    if (!refused) co_return fail(std::move(refused).error());
    if (*refused) co_return **std::move(refused);
    if (cancelled_) co_return policy::refuse(codes::kCallCancelled, "the call was cancelled before it began");

    std::string request = wire::encode(request_);
    if (request.size() > wire::kMaxRequestBytes) {
      co_return policy::refuse(codes::kRequestTooLarge,
                               "the call is too large for the bridge; name fewer files");
    }
    const auto written = co_await channel_->write(std::move(request), next_sign());
    if (!written) co_return lost(written.error());
    // From here on cancel() may write; before, it would have met the request still on its way.
    sent_ = true;
    if (cancelled_) co_await write_cancel(channel_);
    co_return co_await hear();
  }

  // The two hellos. A bridge that refuses answers with an outcome in place of its hello.
  asio::awaitable<Result<std::optional<wire::Outcome>>> greet() {
    const auto deadline = Deadline::after(options_.hello_limit);
    wire::ClientHello hello{.versions = {wire::kProtocolVersion}, .policy_digest = options_.policy_digest};
    std::string body = wire::encode(hello);
    const auto written = co_await channel_->write(std::move(body), deadline);
    if (!written) co_return about_connection(written.error());
    auto frame = co_await channel_->read(wire::kMaxResultBytes, deadline);
    if (!frame) co_return about_connection(frame.error());
    if (!*frame) co_return unavailable("the bridge closed the connection; see that repobridged runs");
    auto message = wire::decode_from_server(**frame);
    if (!message) co_return unreadable_bridge();
    if (auto* outcome = std::get_if<wire::Outcome>(&*message); outcome != nullptr && outcome->is_error) {
      co_return std::optional<wire::Outcome>(std::move(*outcome));
    }
    const auto* answer = std::get_if<wire::ServerHello>(&*message);
    if (answer == nullptr || answer->version != wire::kProtocolVersion) co_return unreadable_bridge();
    if (answer->policy_digest != options_.policy_digest) co_return out_of_date();
    co_return std::optional<wire::Outcome>();
  }

  asio::awaitable<Result<wire::Outcome>> hear() {
    for (;;) {
      const auto frame = co_await channel_->read(wire::kMaxResultBytes, next_sign());
      if (!frame) co_return lost(frame.error());
      if (!*frame) co_return lost(Error{});
      auto message = wire::decode_from_server(**frame);
      if (!message) co_return lost(message.error());
      if (auto* outcome = std::get_if<wire::Outcome>(&*message)) co_return std::move(*outcome);
      const auto* progress = std::get_if<wire::Progress>(&*message);
      if (progress == nullptr) co_return lost(Error{});
      if (handlers_.progress) handlers_.progress(*progress);
    }
  }

  [[nodiscard]] Deadline next_sign() const {
    return Deadline::after(std::min(options_.idle_limit, latest_.left()));
  }

  // Once the request is on its way nobody here can know what became of it.
  [[nodiscard]] Failure lost(const Error& error) const {
    Failure failure = policy::refuse(codes::kBridgeUnavailable,
                                     "the bridge was lost while the call was at work, and whether it was "
                                     "carried out is unknown; look at the "
                                     "workdir with inspect_repo before you repeat it",
                                     policy::Json{{"outcome", "unknown"}, {"request_id", request_.id}});
    failure.value().os_code = error.os_code;
    return failure;
  }

  // Shares the channel, since the outcome may arrive and end the call while this is still being written.
  static asio::awaitable<void> write_cancel(std::shared_ptr<wire::Channel> channel) {
    const auto deadline = Deadline::after(wire::kHandshakeLimit);
    std::string cancel = wire::encode(wire::Cancel());
    // A failure shows itself to whoever reads the outcome.
    (void)co_await channel->write(std::move(cancel), deadline);
  }

  asio::any_io_executor executor_;
  BridgeClient::Options options_;
  wire::Request request_;
  CallHandlers handlers_;
  Deadline latest_;  // for the outcome
  std::shared_ptr<wire::Channel> channel_;
  bool sent_ = false;
  bool cancelled_ = false;
};

}  // namespace

CancelCall BridgeClient::start(wire::Request request, CallHandlers handlers) {
  auto call = std::make_shared<BridgeCall>(executor_, options_, std::move(request), std::move(handlers));
  asio::co_spawn(executor_, BridgeCall::run(call), [call](const std::exception_ptr& thrown) {
    if (!thrown) return;
    call->end(policy::refuse(codes::kInternalError, "the call failed in the front"));
  });
  return [call] { call->cancel(); };
}

asio::awaitable<Result<void>> BridgeClient::probe() {
  return BridgeCall::probe(
      std::make_shared<BridgeCall>(executor_, options_, wire::Request{}, CallHandlers{}));
}

}  // namespace repobridge::mcp
