#include "bridge/server.h"

#include <fcntl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "bridge/log.h"
#include "bridge/session.h"
#include "policy/codes.h"

namespace repobridge::bridge {
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// After a failed accept (out of descriptors), so that the loop does not spin.
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

struct Server::State {
  State(asio::any_io_executor loop, Parts& all_parts, int listening,
        std::shared_ptr<const wire::KeyRing> ring)
      : executor(loop),
        parts(&all_parts),
        keys(std::move(ring)),
        // The listener keeps its own descriptor, by which it removes its name at the end.
        acceptor(loop, asio::local::stream_protocol(), ::fcntl(listening, F_DUPFD_CLOEXEC, 0)),
        pause(loop),
        idle(loop, asio::steady_timer::time_point::max()) {}

  asio::any_io_executor executor;
  Parts* parts;
  std::shared_ptr<const wire::KeyRing> keys;
  asio::local::stream_protocol::acceptor acceptor;
  asio::steady_timer pause;
  asio::steady_timer idle;  // cancelled when the last connection has ended
  std::stop_source shutdown;
  std::size_t connections = 0;

  void connection_ended(const std::exception_ptr& exception) {
    --connections;
    if (connections == 0) idle.cancel();
    if (!exception) return;
    // Nothing of ours throws; what a library threw ends this one connection.
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& error) {
      log_event(std::string("a connection ended by an exception: ") + error.what());
    }
  }
};

Server::Server(asio::any_io_executor executor, Parts& parts, const platform::Listener& listener,
               std::shared_ptr<const wire::KeyRing> keys)
    : state_(std::make_unique<State>(executor, parts, listener.fd(), std::move(keys))) {}

Server::~Server() = default;

asio::awaitable<void> Server::run() {
  State& state = *state_;
  while (!state.shutdown.stop_requested()) {
    auto [ec, socket] = co_await state.acceptor.async_accept(kAwait);
    if (ec && state.shutdown.stop_requested()) break;
    if (ec) {
      state.pause.expires_after(kPause);
      (void)co_await state.pause.async_wait(kAwait);
      continue;
    }
    if (state.connections >= kMostConnections) continue;  // closed with the socket
    ++state.connections;
    platform::UniqueFd connected(socket.release());
    asio::co_spawn(state.executor,
                   serve_connection(state.executor, *state.parts, std::move(connected), state.keys,
                                    state.shutdown.get_token()),
                   [&state](const std::exception_ptr& exception) { state.connection_ended(exception); });
  }
  while (state.connections > 0) (void)co_await state.idle.async_wait(kAwait);
}

void Server::stop() {
  state_->shutdown.request_stop();
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);  // NOLINT(bugprone-unused-return-value)
}

}  // namespace repobridge::bridge
