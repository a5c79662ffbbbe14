// What a supervisor or a monitor asks of the front, on a door of its own.
//
// /healthz: the process serves. /readyz: 200 when the bridge answers and new calls are taken, else 503 and
// why. /metrics: Prometheus. Promise: reads only; nobody is authenticated, hence loopback alone.
#pragma once

#include <functional>

#include "mcp/http_connection.h"
#include "mcp/http_ladder.h"
#include "mcp/metrics.h"
#include "platform/result.h"

namespace repobridge::mcp {

struct StatusParts {
  const Metrics& metrics;
  std::function<asio::awaitable<Result<void>>()> ask_bridge;
  std::function<bool()> draining;
  bool unauthenticated = false;  // whether anybody may call
};

HttpHandler status_pages(StatusParts parts);

}  // namespace repobridge::mcp
