#include "mcp/http_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <list>
#include <optional>

#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

namespace codes = policy::codes;
using asio::ip::tcp;
using Ec = boost::system::error_code;
using Local = asio::local::stream_protocol;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// After a failed accept (out of descriptors), so that the loop does not spin.
constexpr std::chrono::milliseconds kPause{50};
// Clients above the limit that are being told so at one time; further ones wait at the door.
constexpr std::size_t kMostTurnedAway = 32;
// How long a client above the limit waits for a place.
constexpr std::chrono::milliseconds kPatience{2000};
// For so long after one has waited in vain those behind it are told at once, unless somebody can be let go.
constexpr std::chrono::milliseconds kInVain{10000};
// After which it looks again for a connection that has become unused meanwhile.
constexpr std::chrono::milliseconds kMoment{250};
// A client that asks again at once keeps its connection, whoever waits.
constexpr std::chrono::milliseconds kSpared{1000};

std::optional<unsigned short> port_of(std::string_view text) {
  unsigned short port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return port;
}

// No name is looked up: what it leads to may change.
Result<tcp::endpoint> endpoint_of(const std::string& address) {
  const auto colon = address.rfind(':');
  const auto port =
      colon == std::string::npos ? std::nullopt : port_of(std::string_view(address).substr(colon + 1));
  std::string host = address.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  Ec ec;
  const auto parsed = asio::ip::make_address(host, ec);
  if (!port || ec) {
    return policy::refuse(codes::kListenAddressInvalid,
                          "must be ADDRESS:PORT, with a numeric address or localhost");
  }
  return tcp::endpoint(parsed, *port);
}

std::string text_of(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address().to_string();
  const auto port = ":" + std::to_string(endpoint.port());
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + port;
}

Result<tcp::acceptor> bound(const asio::any_io_executor& executor, const tcp::endpoint& endpoint) {
  tcp::acceptor acceptor(executor);
  Ec ec;
  // NOLINTBEGIN(bugprone-unused-return-value): each says it in `ec` too
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) acceptor.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  // NOLINTEND(bugprone-unused-return-value)
  if (!ec) return acceptor;
  return policy::refuse(codes::kListenAddressTaken, "is taken by another program, or not this host's");
}

}  // namespace

struct HttpServer::State {
  State(asio::any_io_executor loop, Parts all_parts)
      : executor(std::move(loop)),
        parts(std::move(all_parts)),
        pause(executor),
        place(executor),
        idle(executor) {
    idle.expires_at(asio::steady_timer::time_point::max());
  }

  asio::any_io_executor executor;
  Parts parts;
  std::list<tcp::acceptor> tcp_doors;
  std::list<Local::acceptor> local_doors;
  std::list<platform::Listener> names;  // of the local doors
  std::list<HttpConnection> connections;
  std::size_t turned_away = 0;
  std::size_t at_work = 0;  // coroutines that must end before we do
  bool stopping = false;
  asio::steady_timer pause;
  asio::steady_timer place;  // for one more; cancelled when anybody has gone
  platform::Deadline in_vain = platform::Deadline::after(std::chrono::milliseconds{0});  // to wait
  asio::steady_timer idle;

  void spawn(asio::awaitable<void> work, std::function<void()> ended);
  void arrived(std::unique_ptr<HttpStream> stream, const HttpHandler& handler);
  void turn_away_one(std::unique_ptr<HttpStream> stream);
  [[nodiscard]] bool full() const { return connections.size() >= parts.limits.connections; }
  // Nobody else can even be told.
  [[nodiscard]] bool shut() const { return full() && turned_away >= kMostTurnedAway; }
  bool let_one_go();
  asio::awaitable<void> wait_a_moment();
  asio::awaitable<void> find_place();

  template <class Protocol, class Arrived>
  void take_waiting(asio::basic_socket_acceptor<Protocol>& acceptor, const Arrived& take, bool told);
  template <class Protocol, class Arrived>
  asio::awaitable<void> accept_on(asio::basic_socket_acceptor<Protocol>& acceptor, Arrived take);
};

void HttpServer::State::spawn(asio::awaitable<void> work, std::function<void()> ended) {
  ++at_work;
  asio::co_spawn(executor, std::move(work),
                 [this, then = std::move(ended)](const std::exception_ptr& thrown) {
                   // Nothing of ours throws; what a library threw ends this one connection.
                   if (thrown) parts.fault("a connection ended by an exception");
                   then();
                   place.cancel();
                   if (--at_work == 0) idle.cancel();
                 });
}

void HttpServer::State::arrived(std::unique_ptr<HttpStream> stream, const HttpHandler& handler) {
  // One that waited for its place while we were told to end would be drained by nobody.
  if (full() || stopping) return turn_away_one(std::move(stream));
  connections.emplace_front(executor, HttpConnection::Parts{.stream = std::move(stream),
                                                            .handler = handler,
                                                            .limits = parts.limits,
                                                            .max_body_bytes = parts.max_body_bytes,
                                                            .answered = parts.answered});
  const auto here = connections.begin();
  parts.connections_changed(1);
  spawn(here->serve(), [this, here] {
    connections.erase(here);
    parts.connections_changed(-1);
  });
}

void HttpServer::State::turn_away_one(std::unique_ptr<HttpStream> stream) {
  ++turned_away;
  constexpr int kUnavailable = 503;
  parts.answered(kUnavailable);
  spawn(turn_away(executor, std::move(stream)), [this] { --turned_away; });
}

// Many clients keep more connections than they use.
bool HttpServer::State::let_one_go() {
  HttpConnection* longest = nullptr;
  auto time = kSpared;
  for (auto& connection : connections) {
    const auto idle_for = connection.idle_for();
    if (!idle_for || *idle_for < time) continue;
    longest = &connection;
    time = *idle_for;
  }
  if (longest != nullptr) longest->drain();
  return longest != nullptr;
}

// All doors wait by one timer, so nobody sets it anew while another waits.
asio::awaitable<void> HttpServer::State::wait_a_moment() {
  if (place.expiry() <= asio::steady_timer::clock_type::now()) place.expires_after(kMoment);
  (void)co_await place.async_wait(kAwait);
}

// Returns when there is one, or when it has been waited for long enough. A connection whose client has left
// is among those that end meanwhile: nobody may have looked at it yet.
asio::awaitable<void> HttpServer::State::find_place() {
  const auto patience = platform::Deadline::after(kPatience);
  while (full() && !stopping && !patience.passed()) {
    const bool one_goes = let_one_go();
    if (!one_goes && !in_vain.passed()) break;
    co_await wait_a_moment();
  }
  if (full() && in_vain.passed()) in_vain = platform::Deadline::after(kInVain);
}

// Whoever waits at the door comes in at once: one at a time, each would wait for all requests that are at
// work. Where the first one was told that there is no place, those behind it are told too.
template <class Protocol, class Arrived>
void HttpServer::State::take_waiting(asio::basic_socket_acceptor<Protocol>& acceptor, const Arrived& take,
                                     bool told) {
  Ec ec;
  acceptor.non_blocking(true, ec);  // NOLINT(bugprone-unused-return-value)
  const auto goes_on = [&] { return full() == told && !shut(); };
  for (std::size_t taken = 0; !ec && taken < parts.limits.connections && goes_on(); ++taken) {
    auto socket = acceptor.accept(ec);
    if (!ec) take(HttpSocket(std::move(socket)));
  }
}

template <class Protocol, class Arrived>
asio::awaitable<void> HttpServer::State::accept_on(asio::basic_socket_acceptor<Protocol>& acceptor,
                                                   Arrived take) {
  while (!stopping) {
    if (shut()) {
      co_await wait_a_moment();
      continue;
    }
    auto [ec, socket] = co_await acceptor.async_accept(kAwait);
    if (stopping) break;
    if (!ec) {
      co_await find_place();
      const bool told = full();
      take(HttpSocket(std::move(socket)));
      take_waiting(acceptor, take, told);
      continue;
    }
    pause.expires_after(kPause);
    (void)co_await pause.async_wait(kAwait);
  }
}

HttpServer::HttpServer(asio::any_io_executor executor, Parts parts)
    : state_(std::make_unique<State>(std::move(executor), std::move(parts))) {}

HttpServer::~HttpServer() = default;

Result<std::string> HttpServer::open(Door door) {
  RB_TRY(const auto endpoint, endpoint_of(door.address));
  if (!door.anywhere && !endpoint.address().is_loopback()) {
    return policy::refuse(
        codes::kListenNotLoopback,
        "is not loopback; only --http may be elsewhere, with REPOBRIDGE_FRONT_ALLOW_NON_LOOPBACK=true");
  }
  RB_TRY(auto acceptor, bound(state_->executor, endpoint));
  const std::string where = text_of(acceptor.local_endpoint());
  auto& kept = state_->tcp_doors.emplace_back(std::move(acceptor));
  const auto take = [state = state_.get(), opened = std::move(door)](HttpSocket socket) {
    Ec ignored;                                       // an answer must not wait for more of it
    socket.set_option(tcp::no_delay(true), ignored);  // NOLINT(bugprone-unused-return-value)
    state->arrived(opened.make_stream(std::move(socket)), opened.handler);
  };
  state_->spawn(state_->accept_on(kept, take), [] {});
  return where;
}

Result<void> HttpServer::open_local(const std::string& path, HttpHandler handler) {
  RB_TRY(auto name, platform::Listener::bind(path));
  // The listener keeps its own descriptor, by which it removes its name at the end.
  const int duplicate = ::fcntl(name.fd(), F_DUPFD_CLOEXEC, 0);
  Local::acceptor acceptor(state_->executor);
  Ec ec;
  acceptor.assign(Local(), duplicate, ec);  // NOLINT(bugprone-unused-return-value)
  if (ec) return os_failure("listen on the local socket", ec.value());
  state_->names.push_back(std::move(name));
  auto& kept = state_->local_doors.emplace_back(std::move(acceptor));
  const auto take = [state = state_.get(), opened = std::move(handler)](HttpSocket socket) {
    const auto peer = platform::peer_of(socket.native_handle());
    if (peer && peer->uid == ::geteuid()) state->arrived(plain_stream(std::move(socket)), opened);
  };
  state_->spawn(state_->accept_on(kept, take), [] {});
  return {};
}

asio::awaitable<void> HttpServer::run() {
  while (state_->at_work > 0) (void)co_await state_->idle.async_wait(kAwait);
}

void HttpServer::stop() {
  state_->stopping = true;
  Ec ignored;
  // NOLINTBEGIN(bugprone-unused-return-value)
  for (auto& door : state_->tcp_doors) door.close(ignored);
  for (auto& door : state_->local_doors) door.close(ignored);
  // NOLINTEND(bugprone-unused-return-value)
  state_->pause.cancel();
  state_->place.cancel();
  for (auto& connection : state_->connections) connection.drain();
}

}  // namespace repobridge::mcp
