#include "mcp/http_tls.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <memory>

#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

namespace ssl = asio::ssl;
using Ec = boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxPemBytes = 1U << 20U;

class TlsStream : public HttpStream {
 public:
  // Shares the context, which must stay as long as its streams.
  TlsStream(HttpSocket socket, std::shared_ptr<ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  asio::awaitable<bool> begin() override {
    const auto [ec] = co_await stream_.async_handshake(ssl::stream_base::server, kAwait);
    co_return !ec;
  }

  asio::awaitable<std::size_t> read_some(std::span<char> into) override {
    const auto [ec, count] = co_await stream_.async_read_some(asio::buffer(into.data(), into.size()), kAwait);
    co_return ec ? 0 : count;
  }

  asio::awaitable<void> left() override {
    (void)co_await stream_.next_layer().async_wait(HttpSocket::wait_error, kAwait);
  }

  asio::awaitable<bool> write(std::string_view bytes) override {
    const auto [ec, count] = co_await asio::async_write(stream_, asio::buffer(bytes), kAwait);
    co_return !ec;
  }

  // HTTP says itself where an answer ends, so nobody needs TLS to say it again.
  void end_writing() override {
    Ec ignored;
    stream_.next_layer().shutdown(HttpSocket::shutdown_send,
                                  ignored);  // NOLINT(bugprone-unused-return-value)
  }

  void close() override {
    Ec ignored;
    stream_.next_layer().close(ignored);  // NOLINT(bugprone-unused-return-value)
  }

 private:
  std::shared_ptr<ssl::context> context_;
  ssl::stream<HttpSocket> stream_;
};

Failure unusable(std::string message) {
  return policy::refuse(policy::codes::kTlsFilesUnusable, std::move(message));
}

Result<std::string> read_key(const std::string& path) {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  const auto facts = platform::facts_of_path(path);
  if (!facts || !*facts) return unusable("the key file of TLS cannot be read");
  if (((*facts)->mode & kOthers) != 0) return unusable("the key file of TLS must have mode 0600");
  auto key = platform::read_trusted_file(path, kMaxPemBytes);
  if (!key) return unusable("the key file of TLS must be one that nobody else could replace");
  return *std::move(key);
}

}  // namespace

Result<MakeStream> tls_streams(const policy::TlsFiles& files) {
  auto chain = platform::read_trusted_file(files.certificate, kMaxPemBytes);
  if (!chain) return unusable("the certificate file of TLS cannot be read, or others could replace it");
  RB_TRY(const auto key, read_key(files.key));
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  Ec ec;
  // NOLINTBEGIN(bugprone-unused-return-value): each says it in `ec` too
  context->set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, ec);
  if (!ec) context->use_certificate_chain(asio::buffer(*chain), ec);
  if (!ec) context->use_private_key(asio::buffer(key), ssl::context::pem, ec);
  // NOLINTEND(bugprone-unused-return-value)
  if (ec) return unusable("certificate and key of TLS must be PEM and belong together");
  return MakeStream([context](HttpSocket socket) -> std::unique_ptr<HttpStream> {
    return std::make_unique<TlsStream>(std::move(socket), context);
  });
}

}  // namespace repobridge::mcp
