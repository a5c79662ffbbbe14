// JSON-RPC 2.0 as MCP uses it: one line of text is one message, or the error it deserves.
//
// Promise: read_message() accepts exactly one request, notification or response and nothing beside it: no
// batch, no null id, no duplicate key. An id is a string or a whole number and stays what it was: "1" is
// not 1. Errors: -32700 for what is not JSON, -32600 for what is JSON and no message. Source: jsonrpc.org
// specification; MCP "Base protocol".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

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

tl::expected<RpcMessage, RpcFault> read_message(std::string_view line);

Json result_message(const RpcId& id, Json result);
Json error_message(const RpcId& id, const RpcError& error);
Json notification_message(std::string_view method, Json params);

}  // namespace repobridge::mcp
