// JSON-RPC 2.0 as MCP uses it: one line of text is one message or a batch of them, or the error it deserves.
//
// Promise: a message is exactly one request, notification or response and nothing beside it: no null id, no
// duplicate key. An id is a string or a whole number and stays what it was: "1" is not 1. A batch has 1 to
// kMostInBatch elements, each a message or a fault of its own, and none of them a batch; who may send one
// says revision.h. Errors: -32700 for what is not JSON, -32600 for what is JSON and no message. Source:
// jsonrpc.org specification; MCP "Base protocol".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "policy/json.h"

namespace repobridge::mcp {

using policy::Json;

struct RpcError {
  static constexpr int kParseError = -32700;
  static constexpr int kInvalidRequest = -32600;
  static constexpr int kMethodNotFound = -32601;
  static constexpr int kInvalidParams = -32602;
  static constexpr int kInternalError = -32603;

  int code = kInternalError;
  std::string message;  // our text; a name that the other side chose only through policy::quoted_name()
  std::optional<Json> data = std::nullopt;
};

// As JSON, which compares strings and numbers as different.
using RpcId = Json;

struct RpcRequest {
  RpcId id;
  std::string method;
  Json params = Json::object();
};

struct RpcNotification {
  std::string method;
  Json params = Json::object();
};

// An answer to a request that we never sent.
struct RpcResponse {};

using RpcMessage = std::variant<RpcRequest, RpcNotification, RpcResponse>;

struct RpcFault {
  RpcId id = nullptr;  // null where none could be read
  RpcError error;
};

using RpcItem = tl::expected<RpcMessage, RpcFault>;

inline constexpr std::size_t kMostInBatch = 100;

struct RpcInput {
  bool batch = false;
  std::vector<RpcItem> items;  // one message when it is no batch
};

tl::expected<RpcInput, RpcFault> read_input(std::string_view line);

Json result_message(const RpcId& id, Json result);
Json error_message(const RpcId& id, const RpcError& error);
Json notification_message(std::string_view method, Json params);

}  // namespace repobridge::mcp
