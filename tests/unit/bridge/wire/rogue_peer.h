// The other end of a connection, behaving as no front and no bridge of ours would: without the key, with a
// certificate in its place, with frames that lie.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/key.h"
#include "platform/unique_fd.h"

namespace repobridge::tests {

struct RogueTls {
  bool server = false;
  bool certificate = false;      // self-signed, made in memory
  std::optional<wire::Key> key;  // the pre-shared key that it offers
  int version = 0;               // the only one it speaks; 0: TLS 1.3
  const char* ciphersuites = nullptr;
};

class RoguePeer {
 public:
  RoguePeer(asio::any_io_executor executor, platform::UniqueFd connected, const RogueTls& tls);
  RoguePeer(RoguePeer&&) noexcept;
  ~RoguePeer();

  // Whether the TLS handshake went through.
  asio::awaitable<bool> handshake();
  // Encrypted after a handshake, in clear before it.
  asio::awaitable<void> write(std::string bytes);
  asio::awaitable<void> write_in_clear(std::string bytes);
  // What comes until the end of the stream, decrypted.
  asio::awaitable<std::string> read_to_end();
  // With a close_notify; going out of scope ends the stream without.
  asio::awaitable<void> shut_down();

 private:
  struct Tls;
  std::unique_ptr<Tls> tls_;
};

}  // namespace repobridge::tests
