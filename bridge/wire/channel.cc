#include "bridge/wire/channel.h"

#include <openssl/ssl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "bridge/wire/frame.h"
#include "platform/local_socket.h"
#include "policy/codes.h"

namespace repobridge::wire {
namespace {

namespace codes = policy::codes;
using platform::Deadline;
using Socket = asio::local::stream_protocol::socket;
using TlsStream = asio::ssl::stream<Socket>;
using Side = asio::ssl::stream_base::handshake_type;
using Ec = boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kBusyRetry{10};

Failure unproven(std::string message) { return policy::refuse(codes::kPeerUnproven, std::move(message)); }

// A reset is an end too: the kernel says so when the other side left before it had read all that we wrote.
bool is_end(const Ec& ec) {
  return ec == asio::error::eof || ec == asio::ssl::error::stream_truncated ||
         ec == asio::error::connection_reset;
}

// Cancels the socket when the deadline passes. What it holds is shared with the timer's handler, which may
// run once more after this object is gone.
class Expiry {
 public:
  Expiry(Socket& socket, std::optional<Deadline> deadline)
      : timer_(socket.get_executor()), state_(std::make_shared<State>(State{.socket = &socket})) {
    if (!deadline) return;
    timer_.expires_at(deadline->at());
    timer_.async_wait([state = state_](const Ec& ec) {
      if (ec || state->socket == nullptr) return;
      state->passed = true;
      Ec ignored;
      state->socket->close(ignored);  // NOLINT(bugprone-unused-return-value)
    });
  }
  Expiry(const Expiry&) = delete;
  Expiry& operator=(const Expiry&) = delete;
  ~Expiry() { state_->socket = nullptr; }
  [[nodiscard]] bool passed() const { return state_->passed; }

 private:
  struct State {
    Socket* socket = nullptr;
    bool passed = false;
  };
  asio::steady_timer timer_;
  std::shared_ptr<State> state_;
};

// What the callbacks of one handshake need and find out.
struct KeyExchange {
  const KeyRing* ring = nullptr;  // the server's
  const Key* key = nullptr;       // the client's, or the one the server found
};

int exchange_index() {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return kIndex;
}

KeyExchange& exchange_of(SSL* ssl) {
  return *static_cast<KeyExchange*>(SSL_get_ex_data(ssl, exchange_index()));
}

// The key as a session to resume from, which is how OpenSSL takes an external pre-shared key in TLS 1.3.
SSL_SESSION* session_of(SSL* ssl, const Key& key) {
  constexpr std::array<unsigned char, 2> kAes128GcmSha256 = {0x13, 0x01};
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kAes128GcmSha256.data());
  SSL_SESSION* session = SSL_SESSION_new();
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.bytes.data());  // NOLINT
  const bool made = session != nullptr && cipher != nullptr &&
                    SSL_SESSION_set1_master_key(session, bytes, key.bytes.size()) == 1 &&
                    SSL_SESSION_set_cipher(session, cipher) == 1 &&
                    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (made) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

extern "C" int rb_find_session(SSL* ssl, const unsigned char* identity, std::size_t length,
                               SSL_SESSION** session) {
  KeyExchange& exchange = exchange_of(ssl);
  const std::string_view name(reinterpret_cast<const char*>(identity), length);  // NOLINT
  const auto found = exchange.ring->find(name);
  *session = nullptr;  // an unknown name is no error: the handshake then fails for want of a certificate
  if (found == exchange.ring->end()) return 1;
  *session = session_of(ssl, found->second);
  exchange.key = &found->second;
  return *session != nullptr ? 1 : 0;
}

extern "C" int rb_use_session(SSL* ssl, const EVP_MD* digest, const unsigned char** identity,
                              std::size_t* length, SSL_SESSION** session) {
  const Key& key = *exchange_of(ssl).key;
  *session = nullptr;
  // After a HelloRetryRequest the digest is fixed, and only SHA-256 fits our one cipher.
  if (digest != nullptr && !EVP_MD_is_a(digest, "SHA256")) return 1;
  *session = session_of(ssl, key);
  *identity = reinterpret_cast<const unsigned char*>(key.name.data());  // NOLINT
  *length = key.name.size();
  return *session != nullptr ? 1 : 0;
}

asio::ssl::context make_context(Side side) {
  const bool server = side == Side::server;
  asio::ssl::context context(server ? asio::ssl::context::tls_server : asio::ssl::context::tls_client);
  SSL_CTX* native = context.native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(native, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(native, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(native, 0);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  if (server) {
    SSL_CTX_set_psk_find_session_callback(native, rb_find_session);
  } else {
    // Without this a client would accept whatever certificate a server without the key shows.
    SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(native, rb_use_session);
  }
  return context;
}

Failure stopped(const Expiry& expiry, const char* message) {
  if (expiry.passed()) return policy::refuse(codes::kWireTimeout, "the other side did not answer in time");
  return policy::refuse(codes::kInvalidRequest, message);
}

}  // namespace

struct Channel::Connection {
  Connection(Socket socket, Side side) : context(make_context(side)), stream(std::move(socket), context) {
    SSL_set_ex_data(stream.native_handle(), exchange_index(), &exchange);
  }

  asio::ssl::context context;
  TlsStream stream;
  KeyExchange exchange;
  std::shared_ptr<const KeyRing> ring;  // keeps what exchange.ring points to
  std::optional<Key> own_key;           // keeps what exchange.key points to
  std::optional<Peer> peer;

  Socket& socket() { return stream.next_layer(); }
};

// Both proofs, in order; the only maker of Peer and Channel.
class Handshake {
 public:
  static asio::awaitable<Result<Channel>> accept(Socket socket, std::shared_ptr<const KeyRing> ring,
                                                 Deadline deadline) {
    auto connection = std::make_unique<Connection>(std::move(socket), Side::server);
    connection->ring = std::move(ring);
    connection->exchange.ring = connection->ring.get();
    co_return co_await perform(std::move(connection), Side::server, deadline);
  }

  static asio::awaitable<Result<Channel>> connect(Socket socket, Key key, Deadline deadline) {
    auto connection = std::make_unique<Connection>(std::move(socket), Side::client);
    connection->own_key = std::move(key);
    connection->exchange.key = &*connection->own_key;
    co_return co_await perform(std::move(connection), Side::client, deadline);
  }

 private:
  using Connection = Channel::Connection;

  static asio::awaitable<Result<Channel>> perform(std::unique_ptr<Connection> connection, Side side,
                                                  Deadline deadline) {
    RB_CO_CHECK(check_user(connection->socket().native_handle()));
    const Expiry expiry(connection->socket(), deadline);
    const auto [ec] = co_await connection->stream.async_handshake(side, kAwait);
    if (ec && expiry.passed()) {
      co_return policy::refuse(codes::kWireTimeout, "the other side did not answer in time");
    }
    if (ec) co_return unproven("the other side does not hold the key");
    if (SSL_session_reused(connection->stream.native_handle()) != 1 || connection->exchange.key == nullptr) {
      co_return unproven("the other side proved something other than the key");
    }
    connection->peer = Peer(connection->exchange.key->name);
    co_return Channel(std::move(connection));
  }

  static Result<void> check_user(int connected) {
    RB_TRY(const auto peer, platform::peer_of(connected));
    if (peer.uid != ::geteuid()) return unproven("the other side runs as another user");
    return {};
  }
};

Channel::Channel(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Channel::Channel(Channel&&) noexcept = default;
Channel::~Channel() = default;

const Peer& Channel::peer() const { return *connection_->peer; }

void Channel::close() {
  Ec ignored;
  connection_->socket().close(ignored);  // NOLINT(bugprone-unused-return-value)
}

asio::awaitable<Result<std::optional<std::string>>> Channel::read(std::size_t max_bytes,
                                                                  std::optional<Deadline> deadline) {
  const Expiry expiry(connection_->socket(), deadline);
  FrameHeader header{};
  const auto [header_ec, header_got] =
      co_await asio::async_read(connection_->stream, asio::buffer(header), kAwait);
  if (is_end(header_ec) && header_got == 0) co_return std::optional<std::string>();
  if (header_ec) co_return stopped(expiry, "the stream ended inside a frame");
  RB_CO_TRY(const auto length, frame_length(header, max_bytes));
  std::string body(length, '\0');
  const auto [ec, got] = co_await asio::async_read(connection_->stream, asio::buffer(body), kAwait);
  if (ec) co_return stopped(expiry, "the stream ended inside a frame");
  co_return std::optional<std::string>(std::move(body));
}

asio::awaitable<Result<void>> Channel::write(std::string body, Deadline deadline) {
  const Expiry expiry(connection_->socket(), deadline);
  const std::string frame = frame_of(body);
  const auto [ec, put] = co_await asio::async_write(connection_->stream, asio::buffer(frame), kAwait);
  if (ec) co_return stopped(expiry, "the other side is gone");
  co_return Result<void>();
}

namespace {

// A socket of the event loop; the constructor that takes a descriptor would throw.
Result<Socket> socket_of(const asio::any_io_executor& executor, platform::UniqueFd connected) {
  Socket socket(executor);
  Ec ec;
  socket.assign(asio::local::stream_protocol(), connected.get(), ec);  // NOLINT(bugprone-unused-return-value)
  if (ec) return os_failure("take over a connection", ec.value());
  (void)connected.release();  // the socket closes it
  return socket;
}

// The bridge's queue of new connections may be full for a moment; only that is worth another try.
asio::awaitable<Result<platform::UniqueFd>> connect_patiently(std::string socket_path, Deadline deadline) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    auto fd = platform::connect_local(socket_path);
    if (fd || fd.error().os_code != EAGAIN || deadline.passed()) co_return fd;
    timer.expires_after(kBusyRetry);
    (void)co_await timer.async_wait(kAwait);
  }
}

}  // namespace

asio::awaitable<Result<Channel>> accept_channel(asio::any_io_executor executor, platform::UniqueFd connected,
                                                std::shared_ptr<const KeyRing> keys, Deadline deadline) {
  RB_CO_TRY(auto socket, socket_of(executor, std::move(connected)));
  co_return co_await Handshake::accept(std::move(socket), std::move(keys), deadline);
}

asio::awaitable<Result<Channel>> connect_channel(asio::any_io_executor executor, std::string socket_path,
                                                 Key key, Deadline deadline) {
  auto connected = co_await connect_patiently(std::move(socket_path), deadline);
  if (!connected) {
    co_return policy::refuse(codes::kBridgeUnavailable,
                             "no bridge answers on the socket; start repobridged, or ask who runs it");
  }
  RB_CO_TRY(auto socket, socket_of(executor, *std::move(connected)));
  co_return co_await Handshake::connect(std::move(socket), std::move(key), deadline);
}

}  // namespace repobridge::wire
