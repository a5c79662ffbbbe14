// The doorway: bytes of somebody without the key never make a Peer, and the handshake ends when they do.
#include <sys/socket.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "bridge/wire/channel.h"
#include "platform/files.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

asio::awaitable<void> accept(asio::any_io_executor executor, platform::UniqueFd connected,
                             bool* yielded_peer) {
  const wire::KeyRing ring{{"front", {.name = "front", .bytes = std::string(wire::kKeyBytes, 'k')}}};
  auto keys = std::make_shared<const wire::KeyRing>(ring);
  const auto deadline = platform::Deadline::after(wire::kHandshakeLimit);
  const auto channel =
      co_await wire::accept_channel(executor, std::move(connected), std::move(keys), deadline);
  *yielded_peer = channel.has_value();
}

}  // namespace

void one_input(std::string_view bytes) {
  constexpr std::size_t kSocketBytes = 65536;
  std::array<int, 2> ends{-1, -1};
  must(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "there are sockets");
  platform::UniqueFd ours(ends[0]);
  const platform::UniqueFd theirs(ends[1]);
  must(platform::write_all(theirs.get(), bytes.substr(0, kSocketBytes)).has_value(), "a socket takes it");
  must(::shutdown(theirs.get(), SHUT_WR) == 0, "a socket can be closed");

  asio::io_context io(1);
  bool yielded_peer = true;
  asio::co_spawn(io, accept(io.get_executor(), std::move(ours), &yielded_peer),
                 [](const std::exception_ptr& thrown) { must(!thrown, "nothing is thrown"); });
  io.run();
  must(!yielded_peer, "bytes without the key never yield a Peer");
}

}  // namespace repobridge::fuzz
