#include "mcp/http_status.h"

#include <boost/asio/use_awaitable.hpp>

namespace repobridge::mcp {
namespace {

HttpReply refusal(int status, std::string message) {
  return rpc_refusal(status, RpcError{.code = RpcError::kInvalidRequest, .message = std::move(message)});
}

asio::awaitable<HttpReply> readiness(const StatusParts& parts) {
  constexpr int kOk = 200;
  constexpr int kUnavailable = 503;
  const auto bridge = co_await parts.ask_bridge();
  const bool draining = parts.draining();
  const bool ready = bridge.has_value() && !draining;
  const Json body{{"ready", ready},
                  {"bridge", bridge ? "ok" : bridge.error().code},
                  {"draining", draining},
                  {"unauthenticated", parts.unauthenticated}};
  co_return HttpReply{.status = ready ? kOk : kUnavailable, .body = policy::dump_json(body)};
}

asio::awaitable<HttpReply> page(const StatusParts& parts, const HttpHead& head) {
  // A page in a browser may not reach it under another name.
  static const HostRules kLoopback{policy::HttpPolicy{}};
  if (!kLoopback.allows_host(head.field("Host"))) co_return refusal(403, "this is for loopback alone");
  if (head.method != "GET" && head.method != "HEAD") {
    HttpReply reply = refusal(405, "only GET is served");
    reply.fields.emplace_back("Allow", "GET, HEAD");
    co_return reply;
  }
  if (head.path() == "/healthz") co_return HttpReply{.body = policy::dump_json(Json{{"healthy", true}})};
  if (head.path() == "/metrics") {
    co_return HttpReply{.body = parts.metrics.text(),
                        .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (head.path() != "/readyz") co_return refusal(404, "there are /healthz, /readyz and /metrics");
  co_return co_await readiness(parts);
}

asio::awaitable<void> serve_page(HttpConnection& connection, const StatusParts& parts) {
  HttpReply reply = co_await page(parts, connection.head());
  co_await connection.answer(std::move(reply));
}

}  // namespace

HttpHandler status_pages(StatusParts parts) {
  const auto kept = std::make_shared<const StatusParts>(std::move(parts));
  return [kept](HttpConnection& connection) { return serve_page(connection, *kept); };
}

}  // namespace repobridge::mcp
