// MCP over HTTP: each POST is carried out for itself; what it holds is a message, or a batch of them at once.
//
// Promise: nothing outlives a POST but calls that the bridge is still at, so a restart of the front loses
// nothing that a client could miss. Which era a request belongs to and what it is refused with says
// http_ladder.h. An answer is JSON; a stream of events when the caller asked for progress and takes one, or
// takes nothing else; to a batch one array, or one event each. A client that leaves cancels its modern call;
// a legacy one goes on, as its revisions want, and is cancelled by notifications/cancelled under the session
// id that its client got at initialize. It is answered even so, with what became of it. A call that a caller
// has no turn for waits for one a little while; a client that leaves meanwhile takes it along, whatever its
// revision. A page of a browser whose origin is allowed may ask and read. Threads: the event loop's one.
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
#include "mcp/legacy_sessions.h"
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
  struct Exchange;
  class Telling;
  class Post;

  asio::awaitable<void> handle(HttpConnection& connection, CheckAccess check, const HostRules* hosts);
  asio::awaitable<void> serve(HttpConnection& connection, const CheckAccess& check, Asked asked);
  [[nodiscard]] std::optional<HttpReply> document(const HttpHead& head) const;

  Parts parts_;
  LegacySessions sessions_;
  CallerTurns turns_;
};

}  // namespace repobridge::mcp
