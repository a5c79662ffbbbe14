#include "mcp/json_rpc.h"

namespace repobridge::mcp {
namespace {

using Fault = tl::unexpected<RpcFault>;

Fault refuse_message(RpcId id, std::string message) {
  return Fault(RpcFault{.id = std::move(id),
                        .error = {.code = RpcError::kInvalidRequest, .message = std::move(message)}});
}

bool is_id(const Json& value) { return value.is_string() || value.is_number_integer(); }

// The shape that both requests and notifications have.
tl::expected<RpcNotification, RpcFault> read_method_and_params(Json& message, const RpcId& id) {
  Json& method = message["method"];
  if (!method.is_string()) return refuse_message(id, "'method' must be a string");
  RpcNotification read{.method = method.get<std::string>()};
  const auto params = message.find("params");
  if (params == message.end()) return read;
  if (!params->is_object()) return refuse_message(id, "'params' must be an object");
  read.params = std::move(*params);
  return read;
}

RpcItem read_item(Json message) {
  if (!message.is_object()) return refuse_message(nullptr, "a message must be an object");

  const auto found = message.find("id");
  if (found != message.end() && !is_id(*found)) {
    return refuse_message(nullptr, "'id' must be a string or a whole number");
  }
  const RpcId id = found == message.end() ? RpcId() : *found;
  if (message.value("jsonrpc", Json()) != "2.0") return refuse_message(id, "'jsonrpc' must be \"2.0\"");
  if (!message.contains("method")) {
    const bool response = message.contains("result") || message.contains("error");
    if (response) return RpcResponse{};
    return refuse_message(id, "'method' is missing");
  }
  auto read = read_method_and_params(message, id);
  if (!read) return Fault(std::move(read).error());
  if (id.is_null()) return *std::move(read);
  return RpcRequest{.id = id, .method = std::move(read->method), .params = std::move(read->params)};
}

tl::expected<RpcInput, RpcFault> read_batch(Json& elements) {
  if (elements.empty()) return refuse_message(nullptr, "a batch must hold a message");
  if (elements.size() > kMostInBatch) {
    return refuse_message(nullptr, "a batch must hold at most " + std::to_string(kMostInBatch) + " messages");
  }
  RpcInput input{.batch = true};
  for (Json& element : elements) input.items.push_back(read_item(std::move(element)));
  return input;
}

}  // namespace

tl::expected<RpcInput, RpcFault> read_input(std::string_view line) {
  auto parsed = policy::parse_json(line);
  if (!parsed) {
    return Fault(RpcFault{.error = {.code = RpcError::kParseError, .message = parsed.error().what}});
  }
  if (parsed->is_array()) return read_batch(*parsed);
  RpcItem item = read_item(*std::move(parsed));
  if (!item) return Fault(std::move(item).error());
  RpcInput input;
  input.items.push_back(std::move(item));
  return input;
}

Json result_message(const RpcId& id, Json result) {
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_message(const RpcId& id, const RpcError& error) {
  Json inner{{"code", error.code}, {"message", error.message}};
  if (error.data) inner["data"] = *error.data;
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(inner)}};
}

Json notification_message(std::string_view method, Json params) {
  return Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace repobridge::mcp
