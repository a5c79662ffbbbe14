#include "mcp/http_stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace repobridge::mcp {
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
using Ec = boost::system::error_code;

class PlainStream : public HttpStream {
 public:
  explicit PlainStream(HttpSocket socket) : socket_(std::move(socket)) {}

  asio::awaitable<bool> begin() override { co_return true; }

  asio::awaitable<std::size_t> read_some(std::span<char> into) override {
    const auto [ec, count] = co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), kAwait);
    co_return ec ? 0 : count;
  }

  asio::awaitable<void> left() override { (void)co_await socket_.async_wait(HttpSocket::wait_error, kAwait); }

  asio::awaitable<bool> write(std::string_view bytes) override {
    const auto [ec, count] = co_await asio::async_write(socket_, asio::buffer(bytes), kAwait);
    co_return !ec;
  }

  void end_writing() override {
    Ec ignored;
    socket_.shutdown(HttpSocket::shutdown_send, ignored);  // NOLINT(bugprone-unused-return-value)
  }

  void close() override {
    Ec ignored;
    socket_.close(ignored);  // NOLINT(bugprone-unused-return-value)
  }

 private:
  HttpSocket socket_;
};

}  // namespace

std::unique_ptr<HttpStream> plain_stream(HttpSocket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace repobridge::mcp
