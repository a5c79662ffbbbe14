// What the front answers by itself, and which calls go on to the bridge: a request in, a reply out.
//
// Promise: no state but what it was made with; the same request always gets the same reply. What policy lets
// the front refuse is refused here, and asked again by the bridge.
// Errors: unknown tools and malformed requests are JSON-RPC errors; a tool's own refusals are results with
// isError, which a model gets to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "bridge/wire/message.h"
#include "mcp/json_rpc.h"
#include "mcp/revision.h"
#include "policy/policy.h"

namespace repobridge::mcp {

// A call that the front has nothing against.
struct PassedCall {
  Era era = Era::legacy;
  std::string tool;
  Json arguments;
  std::optional<Json> progress_token;
};

// What a caller may do at all, before policy is asked about the workdir.
enum class Rights : std::uint8_t { look, write };

// Whether the request is a call of a tool that writes.
bool asks_to_write(const RpcRequest& request);

using Reply = std::variant<Json, RpcError, PassedCall>;

class Server {
 public:
  Server(policy::FrontPolicy policy, ServerInfo info);

  [[nodiscard]] Reply answer(const RpcRequest& request, Rights rights) const;
  // The result of a tools/call that ended so.
  [[nodiscard]] Json call_result(Era era, const Result<wire::Outcome>& outcome) const;
  // The result of one that the front itself refuses.
  [[nodiscard]] Json refused(Era era, const Error& error) const;

 private:
  [[nodiscard]] Reply initialize(const RpcRequest& request) const;
  [[nodiscard]] Reply list_tools(Era era, const Json& params) const;
  [[nodiscard]] Reply call_tool(Era era, const Json& params, Rights rights) const;

  policy::FrontPolicy policy_;
  ServerInfo info_;
  std::string instructions_;
  Json tools_;
};

}  // namespace repobridge::mcp
