#include "mcp/http_front.h"

#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <deque>
#include <utility>

#include "mcp/tool_call.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

using platform::Deadline;

// Beside the longest that a call is waited for by default it leaves an answer within 45 seconds.
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
          {"Access-Control-Expose-Headers", "WWW-Authenticate"},
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

// A message as the whole answer, in a form that the client takes.
asio::awaitable<void> answer_with(HttpConnection& connection, Json message) {
  const Accepts accepts = accepts_of(connection.head().field("Accept"));
  if (accepts.json || !connection.can_stream()) {
    constexpr int kOk = 200;
    co_await connection.answer(json_reply(kOk, message));
    co_return;
  }
  co_await connection.begin_stream();
  co_await connection.send_event(policy::dump_json(message));
  co_await connection.end_stream();
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

// A call that the bridge is at, shared by who waits for it and by the handlers through which it is heard of.
struct HttpFront::LiveCall {
  std::optional<ProgressNotes> notes;
  std::deque<Json> news;
  std::optional<Result<wire::Outcome>> outcome;
  std::function<void()> wake;  // who waits for it
};

// The answer to a call: JSON, unless something is to be told before its end to who takes a stream.
class HttpFront::Telling {
 public:
  Telling(HttpConnection& connection, bool asked_for_progress) : connection_(&connection) {
    const Accepts accepts = accepts_of(connection.head().field("Accept"));
    may_stream_ = accepts.events && connection.can_stream() && (asked_for_progress || !accepts.json);
  }

  [[nodiscard]] bool may_stream() const { return may_stream_; }
  void listen_to(std::shared_ptr<LiveCall> live) { live_ = std::move(live); }

  // Whether there was any.
  asio::awaitable<bool> tell_news() {
    const bool some = may_stream_ && !live_->news.empty();
    while (may_stream_ && !live_->news.empty()) {
      co_await begin();
      std::string note = policy::dump_json(live_->news.front());
      live_->news.pop_front();
      co_await connection_->send_event(std::move(note));
    }
    co_return some;
  }

  asio::awaitable<void> show_life() {
    if (!may_stream_) co_return;
    co_await begin();
    co_await connection_->send_comment("keepalive");
  }

  asio::awaitable<void> finish(Json message) {
    if (!begun_) {
      co_await answer_with(*connection_, std::move(message));
      co_return;
    }
    co_await connection_->send_event(policy::dump_json(message));
    co_await connection_->end_stream();
  }

 private:
  asio::awaitable<void> begin() {
    if (!std::exchange(begun_, true)) co_await connection_->begin_stream();
  }

  HttpConnection* connection_;
  std::shared_ptr<LiveCall> live_;
  bool may_stream_ = false;
  bool begun_ = false;
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
  const auto message = read_message(*body);
  asked.message = &message;
  refused = refuse(Stage::message, asked);
  if (refused) {
    co_await connection.answer(*std::move(refused));
    co_return;
  }
  const auto* request = std::get_if<RpcRequest>(&*message);
  if (request == nullptr) {
    HttpReply taken{.status = 202};
    co_await connection.answer(std::move(taken));
    co_return;
  }
  co_await carry_out(connection, *request, *std::move(access));
}

asio::awaitable<void> HttpFront::carry_out(HttpConnection& connection, RpcRequest request, Access access) {
  if (!access.write && access.for_write && asks_to_write(request)) {
    co_await connection.answer(challenge_reply(*access.for_write));
    co_return;
  }
  auto reply = parts_.server.answer(request, access.write ? Rights::write : Rights::look);
  if (auto* passed = std::get_if<PassedCall>(&reply)) {
    co_await call(connection, std::move(request.id), std::move(*passed), std::move(access));
    co_return;
  }
  auto* result = std::get_if<Json>(&reply);
  Json message = result != nullptr ? result_message(request.id, std::move(*result))
                                   : error_message(request.id, std::get<RpcError>(reply));
  co_await answer_with(connection, std::move(message));
}

// Held as long as the call is at work. One that has not begun is for nobody: the client left, or waited long.
asio::awaitable<HttpFront::Turn> HttpFront::turn_of(HttpConnection& connection, std::string login) {
  auto turn = turns_.take(login, connection.waker());
  const auto patience = Deadline::after(kTurnLimit);
  while (!turn->begun() && !patience.passed() && !connection.gone()) co_await connection.wait(patience);
  co_return turn;
}

// Nothing to cancel when it could not be started; then the outcome says why.
CancelCall HttpFront::start(const std::shared_ptr<LiveCall>& live, PassedCall passed, const Access& access,
                            Turn turn) {
  const std::string tool = passed.tool;
  if (!turn->begun()) {
    live->outcome = policy::refuse(policy::codes::kTooManyCallsAtOnce,
                                   "as many calls of this caller are at work as may be; await an answer",
                                   Json{{"limit", parts_.limits.calls_at_once_per_caller}});
    parts_.metrics.call_refused(tool, code_of(*live->outcome));
    return nullptr;
  }
  auto request = wire_request(std::move(passed), {.login = access.login, .mode = access.mode});
  if (!request) {
    live->outcome = fail(std::move(request).error());
    return nullptr;
  }
  const auto began = std::chrono::steady_clock::now();
  parts_.metrics.call_began();
  return parts_.start_call(
      *std::move(request),
      CallHandlers{
          .progress =
              [live](const wire::Progress& progress) {
                auto note = live->notes ? live->notes->next(progress) : std::nullopt;
                if (!note) return;
                live->news.push_back(*std::move(note));
                live->wake();
              },
          .ended =
              [live, turn = std::move(turn), tool, began, &metrics = parts_.metrics](auto outcome) mutable {
                const auto took = std::chrono::steady_clock::now() - began;
                metrics.call_ended(tool, code_of(outcome), took);
                live->outcome = std::move(outcome);
                turn.reset();
                live->wake();
              }});
}

// Until the call has ended; false when its client left before.
asio::awaitable<bool> HttpFront::accompany(HttpConnection& connection, const LiveCall& call,
                                           Telling& telling) const {
  auto silence = Deadline::after(parts_.limits.keepalive);
  while (!call.outcome) {
    co_await connection.wait(silence);
    if (connection.gone()) co_return false;
    const bool told = co_await telling.tell_news();
    if (!told && !silence.passed()) continue;
    if (!told) co_await telling.show_life();
    silence = Deadline::after(parts_.limits.keepalive);
  }
  co_return true;
}

asio::awaitable<void> HttpFront::call(HttpConnection& connection, RpcId id, PassedCall passed,
                                      Access access) {
  auto turn = co_await turn_of(connection, access.login);
  if (connection.gone() && !turn->begun()) co_return;
  const Era era = passed.era;
  Telling telling(connection, passed.progress_token.has_value());
  const auto live = std::make_shared<LiveCall>(LiveCall{.wake = connection.waker()});
  if (telling.may_stream()) live->notes = notes_of(passed);
  telling.listen_to(live);
  // Not in the live call, whose handlers hold it: nothing may hold itself.
  const CancelCall cancel = start(live, std::move(passed), access, std::move(turn));
  const bool stayed = co_await accompany(connection, *live, telling);
  if (!stayed) {
    if (era == Era::modern && !live->outcome) cancel();
    co_return;
  }
  if (cancel && !*live->outcome) parts_.report(live->outcome->error());
  Json message = result_message(id, parts_.server.call_result(era, *live->outcome));
  co_await telling.finish(std::move(message));
}

}  // namespace repobridge::mcp
