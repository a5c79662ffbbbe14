// The listening side: a connection a call, so many at a time.
#pragma once

#include <memory>
#include <stop_token>

#include "bridge/parts.h"
#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/key.h"
#include "platform/local_socket.h"

namespace repobridge::bridge {

class Server {
 public:
  // More calls than this at once are turned away at the door: what 256 clients ask, and those just answered.
  static constexpr std::size_t kMostConnections = 512;

  // `parts` and `listener` outlive the server.
  Server(asio::any_io_executor executor, Parts& parts, const platform::Listener& listener,
         std::shared_ptr<const wire::KeyRing> keys);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Accepts until stop(); returns when the last call has ended.
  asio::awaitable<void> run();
  // No new connections; calls at work are given up and waited for.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace repobridge::bridge
