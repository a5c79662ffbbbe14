// One HTTP/1.1 connection: requests in, answers out, one at a time and in order.
//
// Promise: at most kMostBufferedBytes of what the client sends ahead are held, whatever it sends. A client
// that is slow with a header, a body or in reading its answer is cut off at its limit. Every answer of 4xx or
// 5xx has a body of JSON. While a request is carried out the connection is read on, so that a client that
// leaves is noticed. One that only ends its sending gets all its answers; since both look the same at first,
// it is then sent something that means nothing (an interim answer, or a comment in a stream), which the
// system of one that has left answers with a reset. HTTP/1.0 has nothing of the kind: there the end of
// sending counts as leaving. Bodies longer than the limit, malformed requests and unread bodies end the
// connection, after the client had the time to read why. Owns: its stream. Threads: the event loop's one.
// Source: RFC 9112.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bridge/wire/asio_fwd.h"
#include "mcp/http_message.h"
#include "mcp/http_stream.h"
#include "platform/deadline.h"
#include "policy/http_policy.h"

namespace repobridge::mcp {

inline constexpr std::size_t kMaxHeaderBytes = 16U << 10U;
inline constexpr std::size_t kMostBufferedBytes = 64U << 10U;

class HttpConnection;
// Answers one request: exactly once by answer(), or by a stream that is begun and ended.
using HttpHandler = std::function<asio::awaitable<void>(HttpConnection&)>;

class HttpConnection {
 public:
  struct Parts {
    std::unique_ptr<HttpStream> stream;
    HttpHandler handler;
    policy::HttpLimits limits;
    std::size_t max_body_bytes = 0;
    // Hears the status of each answer.
    std::function<void(int)> answered;
  };

  HttpConnection(const asio::any_io_executor& executor, Parts parts);
  HttpConnection(HttpConnection&&) = delete;
  HttpConnection& operator=(HttpConnection&&) = delete;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  // Until one side ends it.
  asio::awaitable<void> serve();
  // Answers the one request that may be at work, and no more.
  void drain();
  // How long it has been waiting for the first byte of a request; nothing while one is at work, or to be.
  [[nodiscard]] std::optional<std::chrono::milliseconds> idle_for() const;

  // --- for the handler

  [[nodiscard]] const HttpHead& head() const;
  [[nodiscard]] std::size_t max_body_bytes() const;
  // The whole body; nothing when it could not be had, which then is answered already.
  asio::awaitable<std::optional<std::string>> body();
  asio::awaitable<void> answer(HttpReply reply);
  // Fields that the answer to this request has beside its own; they add up.
  void add_fields(const HttpFields& fields);

  // An HTTP/1.0 client cannot have a stream.
  [[nodiscard]] bool can_stream() const;
  asio::awaitable<void> begin_stream();
  asio::awaitable<void> send_event(std::string data);
  asio::awaitable<void> send_comment(std::string text);
  asio::awaitable<void> end_stream();

  // Whether the client has left.
  [[nodiscard]] bool gone() const;
  // Until wake() is called, the client leaves or the deadline passes; perhaps for less.
  asio::awaitable<void> wait(platform::Deadline deadline);
  // Keeps itself alive, so that a call that ends after its connection wakes nobody.
  [[nodiscard]] std::function<void()> waker() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Answers at once that there are too many, whatever is asked.
asio::awaitable<void> turn_away(asio::any_io_executor executor, std::unique_ptr<HttpStream> stream);

}  // namespace repobridge::mcp
