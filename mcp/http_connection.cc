#include "mcp/http_connection.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "mcp/http_ladder.h"
#include "policy/text.h"

namespace repobridge::mcp {
namespace {

namespace http = boost::beast::http;
using Ec = boost::system::error_code;
using Parser = http::request_parser<http::string_body>;
using platform::Deadline;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadBytes = 16U << 10U;
// How long a client that is to be cut off may take to read why.
constexpr std::chrono::seconds kFarewell{2};
constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";

HttpReply refusal(int status, std::string message) {
  return rpc_refusal(status, RpcError{.code = RpcError::kInvalidRequest, .message = std::move(message)});
}

HttpReply too_large(std::size_t max_body_bytes) {
  return refusal(413, "a message must have at most " + std::to_string(max_body_bytes) + " bytes");
}

HttpReply malformed(const Ec& ec) {
  if (ec == http::error::header_limit) {
    return refusal(431, "the header must have at most " + std::to_string(kMaxHeaderBytes) + " bytes");
  }
  return refusal(400, "the request is no HTTP/1.1");
}

// Where it is not the one coding that is known, nobody can say where the body ends.
bool has_other_transfer_coding(const HttpHead& head) {
  const auto coding = head.field("Transfer-Encoding");
  return coding && policy::lower_ascii(*coding) != "chunked";
}

HttpHead head_of(const Parser& parser) {
  const auto& message = parser.get();
  HttpHead head{.method = std::string(message.method_string()), .target = std::string(message.target())};
  for (const auto& field : message) head.fields.emplace_back(field.name_string(), field.value());
  return head;
}

}  // namespace

struct HttpConnection::State : std::enable_shared_from_this<State> {
  State(const asio::any_io_executor& executor, Parts all_parts)
      : parts(std::move(all_parts)), changed(executor), room(executor), patience(executor) {}

  Parts parts;
  // A client's bytes as they come, read by a coroutine of its own.
  std::string inbox;
  bool ended = false;  // no more will come
  bool gone = false;   // nor is anything read
  bool draining = false;
  asio::steady_timer changed;   // the one who serves waits on it for any of this
  asio::steady_timer room;      // the one who reads, for the inbox to be emptied
  asio::steady_timer patience;  // with what is being written

  std::optional<std::chrono::steady_clock::time_point> idle_since;

  // The request at hand.
  std::optional<Parser> parser;
  HttpHead head;
  HttpFields added;
  bool answered = false;
  bool streaming = false;
  bool sounded = false;
  bool keep = false;

  asio::awaitable<bool> begin();
  asio::awaitable<void> read_on();
  asio::awaitable<bool> next_request();
  asio::awaitable<bool> first_byte();
  asio::awaitable<bool> read_head();
  asio::awaitable<std::optional<HttpReply>> read_rest();
  asio::awaitable<void> answer(HttpReply reply);
  asio::awaitable<void> write(std::string bytes);
  asio::awaitable<void> wait(Deadline deadline);
  asio::awaitable<void> sound();
  asio::awaitable<void> farewell();
  [[nodiscard]] bool knows_interim_answers() const;
  Ec parse();
  void cut_off_after(std::chrono::seconds limit);
  void close();
};

asio::awaitable<void> HttpConnection::State::read_on() {
  std::array<char, kReadBytes> chunk{};
  for (;;) {
    while (inbox.size() >= kMostBufferedBytes && !ended) {
      room.expires_at(asio::steady_timer::time_point::max());
      (void)co_await room.async_wait(kAwait);
    }
    const auto count = ended ? 0 : co_await parts.stream->read_some(chunk);
    if (count == 0) break;
    inbox.append(chunk.data(), count);
    changed.cancel();
  }
  ended = true;
  changed.cancel();
  co_await parts.stream->left();
  gone = true;
  changed.cancel();
}

bool HttpConnection::State::knows_interim_answers() const { return parser->get().version() >= 11; }

// Sends what means nothing, so that the system of a client that has left says so.
asio::awaitable<void> HttpConnection::State::sound() {
  sounded = true;
  if (streaming) {
    co_await write(comment_chunk("are you there"));
  } else if (knows_interim_answers()) {
    co_await write(std::string(kGoOn));
  } else {
    gone = true;
  }
}

asio::awaitable<void> HttpConnection::State::wait(Deadline deadline) {
  if (gone) co_return;
  changed.expires_at(deadline.at());
  (void)co_await changed.async_wait(kAwait);
}

void HttpConnection::State::close() {
  ended = true;
  gone = true;
  parts.stream->close();
  changed.cancel();
  room.cancel();
}

// As much of the inbox as the parser can use; one that is done must not be given more.
Ec HttpConnection::State::parse() {
  Ec ec;
  while (!inbox.empty() && !ec && !parser->is_done()) {
    const bool head_done = parser->is_header_done();
    const auto used = parser->put(asio::buffer(inbox), ec);
    inbox.erase(0, used);
    if (used == 0 || (!head_done && parser->is_header_done())) break;
  }
  room.cancel();
  if (ec == http::error::need_more) ec = {};
  return ec;
}

asio::awaitable<bool> HttpConnection::State::first_byte() {
  const auto deadline = Deadline::after(parts.limits.idle);
  idle_since = std::chrono::steady_clock::now();
  for (;;) {
    // Clients that learnt from old servers send an empty line after a body.
    inbox.erase(0, inbox.find_first_not_of("\r\n"));
    const bool over = ended || draining || deadline.passed();
    if (!inbox.empty() || over) break;
    room.cancel();
    co_await wait(deadline);
  }
  idle_since.reset();
  co_return !inbox.empty();
}

asio::awaitable<bool> HttpConnection::State::read_head() {
  const auto deadline = Deadline::after(parts.limits.read);
  for (;;) {
    const Ec ec = parse();
    if (ec) {
      co_await answer(malformed(ec));
      co_return false;
    }
    if (parser->is_header_done()) break;
    if (deadline.passed()) {
      co_await answer(refusal(408, "the header did not come in time"));
      co_return false;
    }
    if (ended) co_return false;
    co_await wait(deadline);
  }
  head = head_of(*parser);
  if (has_other_transfer_coding(head)) {
    co_await answer(refusal(400, "the only Transfer-Encoding that is taken is chunked"));
    co_return false;
  }
  keep = parser->keep_alive();
  // What is announced is the ladder's to judge; this is for what comes without a length.
  parser->body_limit(parts.max_body_bytes);
  co_return true;
}

asio::awaitable<bool> HttpConnection::State::next_request() {
  answered = false;
  streaming = false;
  sounded = false;
  keep = false;
  added.clear();
  const bool some = co_await first_byte();
  if (!some) co_return false;
  parser.emplace();
  parser->header_limit(static_cast<std::uint32_t>(kMaxHeaderBytes));
  parser->body_limit(boost::none);
  co_return co_await read_head();
}

// Nothing when the body is there; else what the client is told, or an answer of status 0 when it is gone.
asio::awaitable<std::optional<HttpReply>> HttpConnection::State::read_rest() {
  const auto deadline = Deadline::after(parts.limits.read);
  for (;;) {
    const Ec ec = parse();
    if (ec == http::error::body_limit) co_return too_large(parts.max_body_bytes);
    if (ec) co_return malformed(ec);
    if (parser->is_done()) co_return std::nullopt;
    if (deadline.passed()) co_return refusal(408, "the body did not come in time");
    if (ended) co_return HttpReply{.status = 0};
    co_await wait(deadline);
  }
}

void HttpConnection::State::cut_off_after(std::chrono::seconds limit) {
  patience.expires_after(limit);
  patience.async_wait([weak = weak_from_this()](const Ec& ec) {
    const auto self = weak.lock();
    if (!ec && self) self->close();
  });
}

asio::awaitable<bool> HttpConnection::State::begin() {
  cut_off_after(parts.limits.read);
  const bool begun = co_await parts.stream->begin();
  patience.cancel();
  co_return begun;
}

asio::awaitable<void> HttpConnection::State::write(std::string bytes) {
  cut_off_after(parts.limits.write);
  const bool written = co_await parts.stream->write(bytes);
  patience.cancel();
  if (!written) close();
}

asio::awaitable<void> HttpConnection::State::answer(HttpReply reply) {
  answered = true;
  // An unread body would be taken for the next request.
  keep = keep && !draining && parser->is_done() && !(ended && inbox.empty());
  if (parts.answered) parts.answered(reply.status);
  reply.fields.insert(reply.fields.end(), added.begin(), added.end());
  co_await write(to_bytes(reply, keep ? Afterwards::keep : Afterwards::close, head.method != "HEAD"));
}

// A socket that is closed with bytes unread takes the answer with it; so what still comes is read for a
// while.
asio::awaitable<void> HttpConnection::State::farewell() {
  const bool unread = !inbox.empty() || (parser && !parser->is_done());
  if (!unread) {
    close();
    co_return;
  }
  parts.stream->end_writing();
  const auto deadline = Deadline::after(kFarewell);
  while (!ended && !deadline.passed()) {
    inbox.clear();
    room.cancel();
    co_await wait(deadline);
  }
  close();
}

HttpConnection::HttpConnection(const asio::any_io_executor& executor, Parts parts)
    : state_(std::make_shared<State>(executor, std::move(parts))) {}

HttpConnection::~HttpConnection() { state_->close(); }

asio::awaitable<void> HttpConnection::serve() {
  State& state = *state_;
  const bool begun = co_await state.begin();
  if (!begun) co_return;
  const auto executor = co_await asio::this_coro::executor;
  asio::co_spawn(executor, state.read_on(),
                 [shared = state_](const std::exception_ptr&) { shared->close(); });
  do {
    const bool asked = co_await state.next_request();
    if (!asked) break;
    co_await state.parts.handler(*this);
  } while (state.answered && state.keep && !state.gone);
  co_await state.farewell();
}

void HttpConnection::drain() {
  state_->draining = true;
  state_->changed.cancel();
}

std::optional<std::chrono::milliseconds> HttpConnection::idle_for() const {
  // What came is about to be looked at.
  if (!state_->idle_since || !state_->inbox.empty()) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               *state_->idle_since);
}

const HttpHead& HttpConnection::head() const { return state_->head; }
std::size_t HttpConnection::max_body_bytes() const { return state_->parts.max_body_bytes; }

asio::awaitable<std::optional<std::string>> HttpConnection::body() {
  State& state = *state_;
  const auto expected = policy::lower_ascii(state.head.field("Expect").value_or(""));
  const bool asks = expected == "100-continue" && state.knows_interim_answers() && !state.parser->is_done() &&
                    state.inbox.empty();
  if (asks) co_await state.write(std::string(kGoOn));
  auto refused = co_await state.read_rest();
  if (!refused) co_return std::move(state.parser->get().body());
  if (refused->status != 0) co_await state.answer(*std::move(refused));
  co_return std::nullopt;
}

asio::awaitable<void> HttpConnection::answer(HttpReply reply) { return state_->answer(std::move(reply)); }

void HttpConnection::add_fields(const HttpFields& fields) {
  state_->added.insert(state_->added.end(), fields.begin(), fields.end());
}

bool HttpConnection::can_stream() const { return state_->knows_interim_answers(); }

asio::awaitable<void> HttpConnection::begin_stream() {
  state_->answered = true;
  state_->streaming = true;
  constexpr int kOk = 200;
  if (state_->parts.answered) state_->parts.answered(kOk);
  co_await state_->write(event_stream_head(state_->added));
}

asio::awaitable<void> HttpConnection::send_event(std::string data) {
  co_await state_->write(event_chunk(data));
}

asio::awaitable<void> HttpConnection::send_comment(std::string text) {
  co_await state_->write(comment_chunk(text));
}

asio::awaitable<void> HttpConnection::end_stream() {
  state_->keep = state_->keep && !state_->draining;
  co_await state_->write(last_chunk());
}

bool HttpConnection::gone() const { return state_->gone; }

asio::awaitable<void> HttpConnection::wait(Deadline deadline) {
  // Not both: what woke us during the one would be slept through in the other.
  if (state_->ended && !state_->sounded) return state_->sound();
  return state_->wait(deadline);
}

std::function<void()> HttpConnection::waker() const {
  return [state = state_] { state->changed.cancel(); };
}

asio::awaitable<void> turn_away(asio::any_io_executor executor, std::unique_ptr<HttpStream> stream) {
  HttpReply reply = refusal(503, "there are too many connections; try again later");
  reply.fields.emplace_back("Retry-After", "5");
  // As a connection whose every request has that answer, and little time to ask.
  HttpConnection connection(executor, {.stream = std::move(stream),
                                       .handler = [reply](HttpConnection& asked) -> asio::awaitable<void> {
                                         asked.drain();
                                         return asked.answer(reply);
                                       },
                                       .limits = {.read = kFarewell, .write = kFarewell, .idle = kFarewell}});
  co_await connection.serve();
}

}  // namespace repobridge::mcp
