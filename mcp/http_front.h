// MCP over HTTP: each request is carried out for itself, with no session behind it.
//
// Promise: nothing outlives a request but calls that the bridge is still at, so a restart of the front loses
// nothing that a client could miss. Which era a request belongs to and what it is refused with says
// http_ladder.h. An answer is JSON; a stream of events when the caller asked for progress and takes one, or
// takes nothing else. A client that leaves cancels its modern call; a legacy one goes on, as its revisions
// want. A call that a caller has no turn for waits for one a little while; a client that leaves meanwhile
// takes it along. notifications/cancelled is taken and without effect, since ids of legacy clients are not
// theirs alone. A page of a browser whose origin is allowed may ask and read. Threads: the event loop's one.
// Errors: those of the ladder; TOO_MANY_CALLS_AT_ONCE as a tool's refusal. Source: MCP "Streamable HTTP";
// docs/PROTOCOL.md section 7.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "mcp/access.h"
#include "mcp/call.h"
#include "mcp/caller_turns.h"
#include "mcp/http_connection.h"
#include "mcp/http_ladder.h"
#include "mcp/metrics.h"
#include "mcp/server.h"

namespace repobridge::mcp {

class HttpFront {
 public:
  struct Parts {
    const Server& server;
    StartCall start_call;
    HostRules hosts;
    policy::HttpLimits limits;
    Metrics& metrics;
    // Hears of what the administrator should see: a code, never content.
    std::function<void(const Error&)> report;
    // What anybody may GET, by its path: JSON.
    std::map<std::string, std::string> documents;
  };

  explicit HttpFront(Parts parts);

  // For a door that anybody may knock at.
  HttpHandler for_network(CheckAccess check);
  // For a door whose callers the kernel has proven.
  HttpHandler for_local_socket(const Access& access);

 private:
  struct LiveCall;
  class Telling;
  using Turn = std::shared_ptr<CallerTurns::Turn>;

  asio::awaitable<void> handle(HttpConnection& connection, CheckAccess check, const HostRules* hosts);
  asio::awaitable<void> serve(HttpConnection& connection, const CheckAccess& check, Asked asked);
  asio::awaitable<void> carry_out(HttpConnection& connection, RpcRequest request, Access access);
  asio::awaitable<void> call(HttpConnection& connection, RpcId id, PassedCall passed, Access access);
  asio::awaitable<bool> accompany(HttpConnection& connection, const LiveCall& call, Telling& telling) const;
  asio::awaitable<Turn> turn_of(HttpConnection& connection, std::string login);
  CancelCall start(const std::shared_ptr<LiveCall>& live, PassedCall passed, const Access& access, Turn turn);
  [[nodiscard]] std::optional<HttpReply> document(const HttpHead& head) const;

  Parts parts_;
  CallerTurns turns_;
};

}  // namespace repobridge::mcp
