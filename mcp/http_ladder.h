// What an HTTP request is refused with before it is carried out: one table, rung by rung, and its order is
// part of the protocol.
//
// Promise: pure. The first rung that finds fault decides, with its status and code. A request that meets
// every stage without fault is one that Server::answer() may see; which era it belongs to says its body, and
// the headers must agree. Errors: -32700, -32600, -32601, -32602, -32022 and -32020, each as a JSON-RPC
// error. Source: MCP "Streamable HTTP", 2025-03-26 to 2026-07-28; docs/PROTOCOL.md section 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mcp/http_message.h"
#include "mcp/json_rpc.h"
#include "policy/http_policy.h"

namespace repobridge::mcp {

inline constexpr int kHeaderMismatch = -32020;

// Which hosts and origins are ours; over a local socket nobody asks.
class HostRules {
 public:
  explicit HostRules(const policy::HttpPolicy& policy);
  [[nodiscard]] bool allows_host(const std::optional<std::string>& host) const;
  [[nodiscard]] bool allows_origin(const std::optional<std::string>& origin) const;

 private:
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
};

// The stages in their order; between them lies what must be done first.
enum class Stage : std::uint8_t {
  door,     // before anyone is asked who calls
  head,     // before the body is read
  message,  // the body is there
};

// A request as far as it is known.
struct Asked {
  const HttpHead& head;
  const HostRules* hosts = nullptr;  // null: whoever got here came over a local socket
  std::size_t max_body_bytes = 0;
  const tl::expected<RpcInput, RpcFault>* input = nullptr;  // from stage message on
};

std::optional<HttpReply> refuse(Stage stage, const Asked& asked);

// A JSON-RPC error as the whole of an answer.
HttpReply rpc_refusal(int status, const RpcError& error, const RpcId& id = nullptr);

}  // namespace repobridge::mcp
