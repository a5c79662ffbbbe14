#include "bridge/session.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

#include "bridge/administer.h"
#include "bridge/administrator_key.h"
#include "bridge/answer.h"
#include "bridge/log.h"
#include "bridge/perform.h"
#include "bridge/wire/channel.h"
#include "bridge/wire/frame.h"
#include "bridge/wire/message.h"
#include "policy/codes.h"

namespace repobridge::bridge {
namespace {

namespace codes = policy::codes;
using platform::Deadline;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// Shared by the coroutine that answers, the one that works and the one that listens for a cancel, of which
// any may be the last to end.
struct Call {
  Call(const asio::any_io_executor& executor, wire::Channel connected)
      : channel(std::move(connected)), finished(executor) {}
  wire::Channel channel;
  std::stop_source give_up;
  std::optional<wire::Outcome> outcome;
  std::shared_ptr<const runs::LiveOutput> output;  // of the run that it waits for
  asio::steady_timer finished;                     // cancelled when the outcome is there
};

asio::awaitable<Result<wire::FromClient>> next_message(wire::Channel& channel,
                                                       std::optional<Deadline> deadline) {
  RB_CO_TRY(const auto body, co_await channel.read(wire::kMaxRequestBytes, deadline));
  if (!body) co_return policy::refuse(codes::kInvalidRequest, "the front ended the connection");
  co_return wire::decode_from_client(*body);
}

asio::awaitable<Result<void>> send(wire::Channel& channel, wire::FromServer message) {
  co_return co_await channel.write(wire::encode(message), Deadline::after(wire::kIdleLimit));
}

asio::awaitable<Result<void>> exchange_hello(wire::Channel& channel, const Parts& parts) {
  RB_CO_TRY(const auto message, co_await next_message(channel, Deadline::after(wire::kIdleLimit)));
  const auto* hello = std::get_if<wire::ClientHello>(&message);
  if (hello == nullptr) co_return policy::refuse(codes::kInvalidRequest, "the first message must be a hello");
  RB_CO_CHECK(wire::negotiate(*hello));
  if (hello->policy_digest != parts.policy.digest) {
    co_return policy::refuse(
        codes::kPolicyOutOfDate,
        "front and bridge were configured by different renderings; run `repobridge render`, then "
        "restart both");
  }
  wire::ServerHello answer{.policy_digest = parts.policy.digest, .generation = parts.generation.id};
  co_return co_await send(channel, answer);
}

// Nothing from a front that only asked whether we are here.
asio::awaitable<Result<std::optional<wire::Request>>> read_request(wire::Channel& channel) {
  const auto deadline = Deadline::after(wire::kIdleLimit);
  RB_CO_TRY(const auto body, co_await channel.read(wire::kMaxRequestBytes, deadline));
  if (!body) co_return std::nullopt;
  RB_CO_TRY(const auto message, wire::decode_from_client(*body));
  const auto* request = std::get_if<wire::Request>(&message);
  if (request != nullptr) co_return *request;
  co_return policy::refuse(codes::kInvalidRequest, "the second message must be a request");
}

// Anything but a cancel, and the end of the connection, is no reason to stop working.
asio::awaitable<void> listen_for_cancel(std::shared_ptr<Call> call) {
  const auto message = co_await next_message(call->channel, std::nullopt);
  if (message && std::holds_alternative<wire::Cancel>(*message)) call->give_up.request_stop();
}

asio::awaitable<wire::Outcome> answer(asio::any_io_executor executor, Parts& parts, wire::Request request,
                                      std::shared_ptr<Call> call) {
  const std::string& key = call->channel.peer().key_name();
  if (key == kAdministrator) co_return co_await administer(executor, parts, std::move(request));
  const OnRun on_run = [call](auto output) { call->output = std::move(output); };
  co_return co_await perform(executor, parts, key, std::move(request), call->give_up.get_token(), on_run);
}

// Sets the outcome, whatever happens: the front waits for one.
void start_work(const asio::any_io_executor& executor, Parts& parts, wire::Request request,
                const std::shared_ptr<Call>& call) {
  asio::co_spawn(executor, answer(executor, parts, std::move(request), call),
                 [call](const std::exception_ptr& exception, wire::Outcome outcome) {
                   const Error fault{.code = std::string(codes::kInternalError.name),
                                     .message = "a call ended by an exception"};
                   call->outcome = exception ? outcome_of(fault) : std::move(outcome);
                   call->finished.cancel();
                 });
}

// The only writer on the channel from here on.
asio::awaitable<void> report(std::shared_ptr<Call> call) {
  const auto began = std::chrono::steady_clock::now();
  bool connected = true;
  while (!call->outcome) {
    call->finished.expires_after(wire::kProgressEvery);
    (void)co_await call->finished.async_wait(kAwait);
    if (call->outcome || !connected) continue;
    const auto elapsed = std::chrono::steady_clock::now() - began;
    wire::Progress progress{.elapsed_ms =
                                std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()};
    if (call->output) progress.output_bytes = static_cast<std::int64_t>(call->output->bytes());
    connected = (co_await send(call->channel, progress)).has_value();
  }
  if (connected) (void)co_await send(call->channel, *call->outcome);  // a front that left does not want it
  call->channel.close();
}

asio::awaitable<Result<void>> converse(asio::any_io_executor executor, Parts& parts, wire::Channel channel,
                                       std::stop_token shutdown) {
  auto request = Result<std::optional<wire::Request>>(std::nullopt);
  auto ready = co_await exchange_hello(channel, parts);
  if (ready) {
    request = co_await read_request(channel);
    if (!request) ready = fail(request.error());
  }
  if (!ready) {
    // Told as far as the other side still listens; one that holds the key may know why.
    (void)co_await send(channel, outcome_of(ready.error()));
    co_return ready;
  }
  if (!*request) co_return Result<void>();
  auto call = std::make_shared<Call>(executor, std::move(channel));
  const std::stop_callback on_shutdown(shutdown, [call] { call->give_up.request_stop(); });
  asio::co_spawn(executor, listen_for_cancel(call), asio::detached);
  start_work(executor, parts, **std::move(request), call);
  co_await report(call);
  co_return Result<void>();
}

}  // namespace

asio::awaitable<void> serve_connection(asio::any_io_executor executor, Parts& parts,
                                       platform::UniqueFd connected,
                                       std::shared_ptr<const wire::KeyRing> keys, std::stop_token shutdown) {
  auto channel = co_await wire::accept_channel(executor, std::move(connected), std::move(keys));
  if (!channel) {
    log_refused_connection(channel.error());
    co_return;
  }
  const auto served = co_await converse(executor, parts, *std::move(channel), shutdown);
  if (!served) log_refused_connection(served.error());
}

}  // namespace repobridge::bridge
