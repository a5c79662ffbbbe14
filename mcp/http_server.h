// The doors at which HTTP clients arrive, and the connections behind them.
//
// Promise: a door over TCP is bound to loopback unless `anywhere` says otherwise. At the limit of connections
// a client gets the place of one that was not used for the longest time, at least a second; where there is
// none it waits a little for one to end, is told that there are too many, and let go. stop() closes the doors
// at once and lets each connection answer what it is at; run() returns when the last has. Owns: its sockets
// and connections. Threads: the event loop's one. Errors: LISTEN_ADDRESS_INVALID,
// LISTEN_ADDRESS_NOT_LOOPBACK, LISTEN_ADDRESS_TAKEN; those of a local socket.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "bridge/wire/asio_fwd.h"
#include "mcp/http_connection.h"
#include "platform/local_socket.h"
#include "platform/result.h"
#include "policy/http_policy.h"

namespace repobridge::mcp {

// Makes the stream of a connection that was accepted.
using MakeStream = std::function<std::unique_ptr<HttpStream>(HttpSocket)>;

class HttpServer {
 public:
  struct Parts {
    policy::HttpLimits limits;
    std::size_t max_body_bytes = 0;
    std::function<void(int status)> answered;
    std::function<void(std::ptrdiff_t change)> connections_changed;
    // Hears of what should not have happened: fixed text.
    std::function<void(const std::string&)> fault;
  };

  struct Door {
    std::string address;  // HOST:PORT; port 0 lets the kernel choose
    bool anywhere = false;
    HttpHandler handler;
    MakeStream make_stream = plain_stream;
  };

  HttpServer(asio::any_io_executor executor, Parts parts);
  HttpServer(HttpServer&&) = delete;
  HttpServer& operator=(HttpServer&&) = delete;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // Returns where it is bound, as HOST:PORT.
  Result<std::string> open(Door door);
  // The socket's file stays while this object lives. Whoever connects must be this very user.
  Result<void> open_local(const std::string& path, HttpHandler handler);

  asio::awaitable<void> run();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace repobridge::mcp
