// The bytes of one HTTP connection, with or without TLS beneath.
//
// Promise: reading and writing may go on at the same time, one of each; close() ends both. No call throws.
// Owns: the socket. Threads: the event loop's one. Errors: a connection that fails has ended; nobody asks
// why.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "bridge/wire/asio_fwd.h"

namespace repobridge::mcp {

using HttpSocket = asio::generic::stream_protocol::socket;

class HttpStream {
 public:
  HttpStream() = default;
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;
  HttpStream(HttpStream&&) = delete;
  HttpStream& operator=(HttpStream&&) = delete;
  virtual ~HttpStream() = default;

  // What must happen before the first byte; false: there will be none.
  virtual asio::awaitable<bool> begin() = 0;
  // At least one byte, or none at the end.
  virtual asio::awaitable<std::size_t> read_some(std::span<char> into) = 0;
  // For after the end of reading: until the other side is known to read no more, or until close().
  virtual asio::awaitable<void> left() = 0;
  // The bytes must stay until it is done.
  virtual asio::awaitable<bool> write(std::string_view bytes) = 0;
  // Tells the other side that nothing more will come.
  virtual void end_writing() = 0;
  virtual void close() = 0;
};

std::unique_ptr<HttpStream> plain_stream(HttpSocket socket);

}  // namespace repobridge::mcp
