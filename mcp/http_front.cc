#include "mcp/http_front.h"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "mcp/tool_call.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

using platform::Deadline;

// How long a call waits for its turn. Beside the longest that a call is waited for by default it leaves an
// answer within 45 seconds.
constexpr std::chrono::seconds kTurnLimit{4};

HttpReply json_reply(int status, const Json& body) {
  return HttpReply{.status = status, .body = policy::dump_json(body)};
}

HttpReply challenge_reply(const Challenge& challenge) {
  HttpReply reply = json_reply(challenge.status,
                               Json{{"error", challenge.error}, {"error_description", challenge.message}});
  if (!challenge.www_authenticate.empty()) {
    reply.fields.emplace_back("WWW-Authenticate", challenge.www_authenticate);
  }
  return reply;
}

// What lets a browser hand an answer to a page whose origin was allowed.
HttpFields for_page_of(const std::string& origin) {
  return {{"Access-Control-Allow-Origin", origin},
          {"Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate"},
          {"Vary", "Origin"}};
}

// A browser asks whether a page may ask; that carries no token.
bool is_preflight(const HttpHead& head) {
  return head.method == "OPTIONS" && head.field("Access-Control-Request-Method").has_value();
}

HttpReply preflight_reply() {
  return HttpReply{.status = 204,
                   .fields = {{"Access-Control-Allow-Methods", "POST"},
                              {"Access-Control-Allow-Headers",
                               "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
                               "Mcp-Session-Id"},
                              {"Access-Control-Max-Age", "600"}}};
}

bool wants_to_write(const RpcInput& input) {
  return std::ranges::any_of(input.items, [](const RpcItem& item) {
    const auto* request = item ? std::get_if<RpcRequest>(&*item) : nullptr;
    return request != nullptr && asks_to_write(*request);
  });
}

// The code of a tool's refusal, for the count.
std::string code_in(const Json& body) {
  const auto error = body.find("error");
  return error == body.end() || !error->is_object() ? "OTHER" : error->value("code", "OTHER");
}

std::string code_of(const Result<wire::Outcome>& outcome) {
  if (!outcome) return outcome.error().code;
  return outcome->is_error ? code_in(outcome->body) : "OK";
}

}  // namespace

// A call that waits for its turn, was passed on to the bridge, or was refused on its way there.
struct HttpFront::LiveCall {
  std::size_t place = 0;  // of its answer among those of its POST
  RpcId id;
  Era era = Era::legacy;
  std::string tool;
  std::optional<ProgressNotes> notes;
  std::shared_ptr<CallerTurns::Turn> turn;         // until its end
  std::shared_ptr<LegacySessions::Place> session;  // where it can be cancelled, until its end
  std::optional<PassedCall> waiting;               // for its turn
  bool passed_on = false;
  std::optional<Result<wire::Outcome>> outcome;
};

// What is heard of the calls of one POST, shared by who waits for them and by their handlers, which may
// outlive it.
struct HttpFront::Exchange {
  std::function<void()> wake;  // who waits
  std::deque<LiveCall> calls;  // each stays where it is
  std::deque<Json> news;
  std::size_t at_work = 0;  // or waiting for that

  void end(LiveCall& call, Result<wire::Outcome> outcome) {
    call.outcome = std::move(outcome);
    call.waiting.reset();
    call.turn.reset();
    call.session.reset();
    --at_work;
    wake();
  }
};

// The answer to a POST: JSON, unless something is to be told before its end to who takes a stream, or who
// takes nothing else.
class HttpFront::Telling {
 public:
  Telling(HttpConnection& connection, std::shared_ptr<Exchange> exchange)
      : connection_(&connection),
        exchange_(std::move(exchange)),
        accepts_(accepts_of(connection.head().field("Accept"))) {
    const bool asked = std::ranges::any_of(exchange_->calls, [](const auto& call) { return !!call.notes; });
    may_stream_ = accepts_.events && connection.can_stream() && (asked || !accepts_.json);
  }

  // Whether there was any.
  asio::awaitable<bool> tell_news() {
    if (!may_stream_) exchange_->news.clear();
    const bool some = !exchange_->news.empty();
    while (!exchange_->news.empty()) {
      co_await begin();
      std::string note = policy::dump_json(exchange_->news.front());
      exchange_->news.pop_front();
      co_await connection_->send_event(std::move(note));
    }
    co_return some;
  }

  asio::awaitable<void> show_life() {
    if (!may_stream_) co_return;
    co_await begin();
    co_await connection_->send_comment("keepalive");
  }

  asio::awaitable<void> finish(Json::array_t answers, bool batch) {
    const bool as_json = !begun_ && (accepts_.json || !connection_->can_stream());
    if (as_json) {
      constexpr int kOk = 200;
      const Json body = batch ? Json(std::move(answers)) : std::move(answers.front());
      co_await connection_->answer(json_reply(kOk, body));
      co_return;
    }
    co_await begin();
    for (const Json& answer : answers) co_await connection_->send_event(policy::dump_json(answer));
    co_await connection_->end_stream();
  }

 private:
  asio::awaitable<void> begin() {
    if (!std::exchange(begun_, true)) co_await connection_->begin_stream();
  }

  HttpConnection* connection_;
  std::shared_ptr<Exchange> exchange_;
  Accepts accepts_;
  bool may_stream_ = false;
  bool begun_ = false;
};

// One POST that has come down the whole ladder.
class HttpFront::Post {
 public:
  Post(HttpFront& front, HttpConnection& connection, Access access)
      : front_(&front),
        connection_(&connection),
        access_(std::move(access)),
        session_(connection.head().field("Mcp-Session-Id")),
        exchange_(std::make_shared<Exchange>(Exchange{.wake = connection.waker()})),
        turn_limit_(Deadline::after(kTurnLimit)) {}

  asio::awaitable<void> carry_out(RpcInput input);

 private:
  void take(RpcItem item);
  void take(RpcRequest request);
  void take(const RpcNotification& notification);
  void start(RpcId id, PassedCall passed);
  void begin_calls(bool waited_long);
  void begin(LiveCall& call);
  CancelCall pass_on(LiveCall& call, wire::Request request);
  static void give_up(const std::weak_ptr<Exchange>& exchange, LiveCall& call);
  void leave();
  [[nodiscard]] bool any_waits() const;
  void give_session();
  asio::awaitable<bool> accompany(Telling& telling);
  void answer_calls();

  HttpFront* front_;
  HttpConnection* connection_;
  Access access_;
  std::optional<std::string> session_;
  std::shared_ptr<Exchange> exchange_;
  Deadline turn_limit_;
  Json::array_t answers_;
  // Not in the exchange, which handlers hold: nothing may hold itself.
  std::vector<CancelCall> cancels_when_left_;
};

HttpFront::HttpFront(Parts parts)
    : parts_(std::move(parts)), turns_(parts_.limits.calls_at_once_per_caller) {}

HttpHandler HttpFront::for_network(CheckAccess check) {
  return [this, check = std::move(check)](HttpConnection& connection) {
    return handle(connection, check, &parts_.hosts);
  };
}

HttpHandler HttpFront::for_local_socket(const Access& access) {
  const CheckAccess proven =
      [access](const std::string&) -> asio::awaitable<tl::expected<Access, Challenge>> { co_return access; };
  return [this, proven](HttpConnection& connection) { return handle(connection, proven, nullptr); };
}

std::optional<HttpReply> HttpFront::document(const HttpHead& head) const {
  const auto found = parts_.documents.find(std::string(head.path()));
  if (found == parts_.documents.end() || (head.method != "GET" && head.method != "HEAD")) return std::nullopt;
  return HttpReply{.body = found->second, .fields = {{"Access-Control-Allow-Origin", "*"}}};
}

asio::awaitable<void> HttpFront::handle(HttpConnection& connection, CheckAccess check,
                                        const HostRules* hosts) {
  Asked asked{.head = connection.head(), .hosts = hosts, .max_body_bytes = connection.max_body_bytes()};
  auto refused = refuse(Stage::door, asked);
  constexpr int kNotFound = 404;
  if (refused && refused->status == kNotFound) {
    if (auto found = document(asked.head)) refused = std::move(found);
  }
  if (refused) {
    co_await connection.answer(*std::move(refused));
    co_return;
  }
  if (const auto origin = asked.head.field("Origin"); origin && hosts != nullptr) {
    connection.add_fields(for_page_of(*origin));
    if (is_preflight(asked.head)) {
      HttpReply leave = preflight_reply();
      co_await connection.answer(std::move(leave));
      co_return;
    }
  }
  co_await serve(connection, check, asked);
}

asio::awaitable<void> HttpFront::serve(HttpConnection& connection, const CheckAccess& check, Asked asked) {
  auto access = co_await check(asked.head.field("Authorization").value_or(""));
  if (!access) {
    co_await connection.answer(challenge_reply(access.error()));
    co_return;
  }
  auto refused = refuse(Stage::head, asked);
  if (refused) {
    co_await connection.answer(*std::move(refused));
    co_return;
  }
  const auto body = co_await connection.body();
  if (!body) co_return;  // answered already, or nobody is there
  auto input = read_input(*body);
  asked.input = &input;
  refused = refuse(Stage::message, asked);
  if (refused) {
    co_await connection.answer(*std::move(refused));
    co_return;
  }
  if (!access->write && access->for_write && wants_to_write(*input)) {
    co_await connection.answer(challenge_reply(*access->for_write));
    co_return;
  }
  Post post(*this, connection, *std::move(access));
  co_await post.carry_out(*std::move(input));
}

asio::awaitable<void> HttpFront::Post::carry_out(RpcInput input) {
  for (RpcItem& item : input.items) take(std::move(item));
  if (answers_.empty()) {
    HttpReply taken{.status = 202};
    co_await connection_->answer(std::move(taken));
    co_return;
  }
  Telling telling(*connection_, exchange_);
  const bool stayed = co_await accompany(telling);
  if (!stayed) co_return leave();
  answer_calls();
  co_await telling.finish(std::move(answers_), input.batch);
}

void HttpFront::Post::take(RpcItem item) {
  if (!item) {
    answers_.push_back(error_message(item.error().id, item.error().error));
  } else if (auto* request = std::get_if<RpcRequest>(&*item)) {
    take(std::move(*request));
  } else if (const auto* notification = std::get_if<RpcNotification>(&*item)) {
    take(*notification);
  }
}

void HttpFront::Post::take(const RpcNotification& notification) {
  const bool modern = claim_of(notification.method, notification.params).modern;
  if (modern || notification.method != "notifications/cancelled") return;
  front_->sessions_.cancel(access_.login, session_, cancelled_id(notification.params));
}

void HttpFront::Post::take(RpcRequest request) {
  auto reply = front_->parts_.server.answer(request, access_.write ? Rights::write : Rights::look);
  if (auto* passed = std::get_if<PassedCall>(&reply)) {
    start(std::move(request.id), std::move(*passed));
  } else if (auto* result = std::get_if<Json>(&reply)) {
    if (request.method == "initialize") give_session();
    answers_.push_back(result_message(request.id, std::move(*result)));
  } else {
    answers_.push_back(error_message(request.id, std::get<RpcError>(reply)));
  }
}

void HttpFront::Post::give_session() {
  auto id = front_->sessions_.new_id(access_.login);
  if (id) connection_->add_fields({{"Mcp-Session-Id", *std::move(id)}});
}

void HttpFront::Post::start(RpcId id, PassedCall passed) {
  LiveCall& call = exchange_->calls.emplace_back(LiveCall{.place = answers_.size(),
                                                          .id = std::move(id),
                                                          .era = passed.era,
                                                          .tool = passed.tool,
                                                          .notes = notes_of(passed)});
  answers_.emplace_back();
  call.turn = front_->turns_.take(access_.login, exchange_->wake);
  if (call.era == Era::legacy) call.session = front_->sessions_.place_for(access_.login, session_, call.id);
  if (call.session) {
    call.session->set([exchange = std::weak_ptr(exchange_), &call] { give_up(exchange, call); });
  }
  call.waiting = std::move(passed);
  ++exchange_->at_work;
}

// Those whose turn it is, and in the end those that cannot have one.
void HttpFront::Post::begin_calls(bool waited_long) {
  Parts& parts = front_->parts_;
  for (LiveCall& call : exchange_->calls) {
    if (!call.waiting) continue;
    if (call.turn->begun()) {
      begin(call);
    } else if (waited_long) {
      exchange_->end(call,
                     policy::refuse(policy::codes::kTooManyCallsAtOnce,
                                    "as many calls of this caller are at work as may be; await an answer",
                                    Json{{"limit", parts.limits.calls_at_once_per_caller}}));
      parts.metrics.call_refused(call.tool, code_of(*call.outcome));
    }
  }
}

// One that waits is not passed on any more.
void HttpFront::Post::give_up(const std::weak_ptr<Exchange>& exchange, LiveCall& call) {
  const auto there = exchange.lock();
  if (!there || !call.waiting) return;
  there->end(call, policy::refuse(policy::codes::kCallCancelled, "the call was cancelled before it began"));
}

// One that cannot be passed on has its outcome at once.
void HttpFront::Post::begin(LiveCall& call) {
  auto request = wire_request(*std::move(call.waiting), {.login = access_.login, .mode = access_.mode});
  call.waiting.reset();
  if (!request) return exchange_->end(call, fail(std::move(request).error()));
  auto cancel = pass_on(call, *std::move(request));
  if (call.era == Era::modern) cancels_when_left_.push_back(std::move(cancel));
}

CancelCall HttpFront::Post::pass_on(LiveCall& call, wire::Request request) {
  const auto began = std::chrono::steady_clock::now();
  call.passed_on = true;
  front_->parts_.metrics.call_began();
  const auto note = [exchange = exchange_, &call](const wire::Progress& progress) {
    auto next = call.notes ? call.notes->next(progress) : std::nullopt;
    if (!next) return;
    exchange->news.push_back(*std::move(next));
    exchange->wake();
  };
  const auto end = [exchange = exchange_, &call, began, &metrics = front_->parts_.metrics](auto outcome) {
    metrics.call_ended(call.tool, code_of(outcome), std::chrono::steady_clock::now() - began);
    exchange->end(call, std::move(outcome));
  };
  const std::chrono::milliseconds waited = kTurnLimit - turn_limit_.left();
  auto cancel = front_->parts_.start_call(std::move(request),
                                          CallHandlers{.progress = note, .ended = end, .waited = waited});
  if (call.session) call.session->set(cancel);
  return cancel;
}

// Those that wait go with the client.
void HttpFront::Post::leave() {
  for (LiveCall& call : exchange_->calls) give_up(exchange_, call);
  for (const auto& cancel : cancels_when_left_) cancel();
}

bool HttpFront::Post::any_waits() const {
  return std::ranges::any_of(exchange_->calls, [](const auto& call) { return call.waiting.has_value(); });
}

// Until each call has ended; false when the client left before.
asio::awaitable<bool> HttpFront::Post::accompany(Telling& telling) {
  const auto keepalive = front_->parts_.limits.keepalive;
  auto silence = Deadline::after(keepalive);
  for (;;) {
    begin_calls(turn_limit_.passed());
    if (exchange_->at_work == 0) co_return true;
    const bool turn_first = any_waits() && turn_limit_.at() < silence.at();
    co_await connection_->wait(turn_first ? turn_limit_ : silence);
    if (connection_->gone()) co_return false;
    const bool told = co_await telling.tell_news();
    if (!told && !silence.passed()) continue;
    if (!told) co_await telling.show_life();
    silence = Deadline::after(keepalive);
  }
}

void HttpFront::Post::answer_calls() {
  const Parts& parts = front_->parts_;
  for (const LiveCall& call : exchange_->calls) {
    if (call.passed_on && !*call.outcome) parts.report(call.outcome->error());
    answers_[call.place] = result_message(call.id, parts.server.call_result(call.era, *call.outcome));
  }
}

}  // namespace repobridge::mcp
