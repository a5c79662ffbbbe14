// The doorway: one proven, encrypted connection between a front and the bridge.
//
// Promise: a Channel exists only after both proofs. The kernel's: the other end runs as this very user,
// measured on the connection by both sides. The key's: TLS 1.3 with an external pre-shared key,
// TLS_AES_128_GCM_SHA256, and an (EC)DHE exchange; no certificate is loaded, no ticket or session kept, and a
// handshake that did not resume from the key is closed, so a server with a certificate alone proves nothing
// here. A Peer can be made only by that handshake. Threads: the io_context's one. At most one read and one
// write at a time. Errors: PEER_UNPROVEN for either proof; WIRE_TIMEOUT; the frame errors. Nothing tells the
// other side why. Source: RFC 8446 section 2.2; docs/PROTOCOL.md section 1.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/key.h"
#include "platform/deadline.h"
#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::wire {

inline constexpr std::chrono::seconds kHandshakeLimit{5};
inline constexpr std::chrono::seconds kIdleLimit{30};
// A call at work sends a sign of life this often, well inside the idle limit.
inline constexpr std::chrono::seconds kProgressEvery{5};

class Peer {
 public:
  [[nodiscard]] const std::string& key_name() const { return key_name_; }

 private:
  friend class Handshake;
  explicit Peer(std::string key_name) : key_name_(std::move(key_name)) {}
  std::string key_name_;
};

class Channel {
 public:
  Channel(Channel&&) noexcept;
  Channel& operator=(Channel&&) = delete;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  [[nodiscard]] const Peer& peer() const;

  // One frame's body; an empty optional when the other side has ended. Without a deadline it waits for ever,
  // or until close().
  asio::awaitable<Result<std::optional<std::string>>> read(std::size_t max_bytes,
                                                           std::optional<platform::Deadline> deadline);
  asio::awaitable<Result<void>> write(std::string body, platform::Deadline deadline);
  void close();

 private:
  friend class Handshake;
  struct Connection;
  explicit Channel(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

// The bridge's side of a connection just accepted. Both proofs must be there before the deadline.
asio::awaitable<Result<Channel>> accept_channel(
    asio::any_io_executor executor, platform::UniqueFd connected, std::shared_ptr<const KeyRing> keys,
    platform::Deadline deadline = platform::Deadline::after(kHandshakeLimit));
// The front's side, with one deadline for reaching the bridge and for the proofs. BRIDGE_UNAVAILABLE when
// nobody answers on the socket.
asio::awaitable<Result<Channel>> connect_channel(
    asio::any_io_executor executor, std::string socket_path, Key key,
    platform::Deadline deadline = platform::Deadline::after(kHandshakeLimit));

}  // namespace repobridge::wire
