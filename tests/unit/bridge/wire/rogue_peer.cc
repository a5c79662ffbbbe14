#include "tests/unit/bridge/wire/rogue_peer.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <stdexcept>

namespace repobridge::tests {
namespace {

using Socket = asio::local::stream_protocol::socket;
using Side = asio::ssl::stream_base::handshake_type;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

void must(bool done) {
  if (!done) throw std::runtime_error("OpenSSL refused to set the stage");
}

// A certificate for "bridge", signed by itself.
void use_certificate(SSL_CTX* context) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  constexpr long kDay = 86400;
  must(key && certificate && ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1) == 1);
  must(X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay) != nullptr);
  must(X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDay) != nullptr);
  must(X509_set_pubkey(certificate.get(), key.get()) == 1);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const std::array<unsigned char, 7> common_name{"bridge"};
  must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name.data(), -1, -1, 0) == 1);
  must(X509_set_issuer_name(certificate.get(), name) == 1);
  must(X509_sign(certificate.get(), key.get(), EVP_sha256()) != 0);
  must(SSL_CTX_use_certificate(context, certificate.get()) == 1);
  must(SSL_CTX_use_PrivateKey(context, key.get()) == 1);
}

int key_index() {
  static const int kIndex = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return kIndex;
}

const wire::Key& key_of(SSL* ssl) {
  return *static_cast<const wire::Key*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_index()));
}

SSL_SESSION* session_of(SSL* ssl, const wire::Key& key) {
  constexpr std::array<unsigned char, 2> kAes128GcmSha256 = {0x13, 0x01};
  SSL_SESSION* session = SSL_SESSION_new();
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.bytes.data());  // NOLINT
  must(SSL_SESSION_set1_master_key(session, bytes, key.bytes.size()) == 1 &&
       SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, kAes128GcmSha256.data())) == 1 &&
       SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
  return session;
}

extern "C" int rb_rogue_use_session(SSL* ssl, const EVP_MD* /*digest*/, const unsigned char** identity,
                                    std::size_t* length, SSL_SESSION** session) {
  const wire::Key& key = key_of(ssl);
  *identity = reinterpret_cast<const unsigned char*>(key.name.data());  // NOLINT
  *length = key.name.size();
  *session = session_of(ssl, key);
  return 1;
}

asio::ssl::context context_for(const RogueTls& tls) {
  asio::ssl::context context(tls.server ? asio::ssl::context::tls_server : asio::ssl::context::tls_client);
  SSL_CTX* native = context.native_handle();
  const int version = tls.version == 0 ? TLS1_3_VERSION : tls.version;
  must(SSL_CTX_set_min_proto_version(native, version) == 1 &&
       SSL_CTX_set_max_proto_version(native, version) == 1);
  if (tls.ciphersuites != nullptr) must(SSL_CTX_set_ciphersuites(native, tls.ciphersuites) == 1);
  if (tls.certificate) use_certificate(native);
  return context;
}

}  // namespace

struct RoguePeer::Tls {
  Tls(asio::any_io_executor executor, int connected, const RogueTls& wanted)
      : key(wanted.key),
        side(wanted.server ? Side::server : Side::client),
        context(context_for(wanted)),
        stream(Socket(std::move(executor), asio::local::stream_protocol(), connected), context) {
    if (!key) return;
    must(SSL_CTX_set_ex_data(context.native_handle(), key_index(), &*key) == 1);
    SSL_set_psk_use_session_callback(stream.native_handle(), rb_rogue_use_session);
  }

  std::optional<wire::Key> key;
  Side side;
  asio::ssl::context context;
  asio::ssl::stream<Socket> stream;
};

RoguePeer::RoguePeer(asio::any_io_executor executor, platform::UniqueFd connected, const RogueTls& tls)
    : tls_(std::make_unique<Tls>(std::move(executor), connected.release(), tls)) {}
RoguePeer::RoguePeer(RoguePeer&&) noexcept = default;
RoguePeer::~RoguePeer() = default;

asio::awaitable<bool> RoguePeer::handshake() {
  const auto [ec] = co_await tls_->stream.async_handshake(tls_->side, kAwait);
  co_return !ec;
}

asio::awaitable<void> RoguePeer::write(std::string bytes) {
  (void)co_await asio::async_write(tls_->stream, asio::buffer(bytes), kAwait);
}

asio::awaitable<void> RoguePeer::write_in_clear(std::string bytes) {
  (void)co_await asio::async_write(tls_->stream.next_layer(), asio::buffer(bytes), kAwait);
}

asio::awaitable<std::string> RoguePeer::read_to_end() {
  std::string all;
  std::array<char, 4096> chunk{};
  for (;;) {
    const auto [ec, got] = co_await tls_->stream.async_read_some(asio::buffer(chunk), kAwait);
    all.append(chunk.data(), got);
    if (ec) co_return all;
  }
}

asio::awaitable<void> RoguePeer::shut_down() { (void)co_await tls_->stream.async_shutdown(kAwait); }

}  // namespace repobridge::tests
