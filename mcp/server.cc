#include "mcp/server.h"

#include <cstdlib>

#include "bridge/wire/bounds.h"
#include "bridge/wire/envelope.h"
#include "mcp/instructions.h"
#include "mcp/tools.h"
#include "policy/call.h"
#include "policy/codes.h"
#include "policy/decide.h"

namespace repobridge::mcp {
namespace {

RpcError invalid_params(std::string message) {
  return RpcError{.code = RpcError::kInvalidParams, .message = std::move(message)};
}

// A success stands in both forms; an error in the text alone, since clients hold structuredContent against
// outputSchema even then and would hide the code.
Json tool_result(bool is_error, const Json& body) {
  Json result{{"content", Json::array({Json{{"type", "text"}, {"text", policy::dump_json(body)}}})},
              {"isError", is_error}};
  if (!is_error) result["structuredContent"] = body;
  return result;
}

Result<void> front_has_nothing_against(const policy::FrontPolicy& policy, Rights rights, policy::Tool tool,
                                       const Json& arguments) {
  RB_TRY(const auto call, policy::parse_call(tool, arguments));
  if (policy::writes(call) && rights == Rights::look) {
    return policy::refuse(policy::codes::kCallerReadOnly,
                          "this caller may look and not write; only the administrator can change that");
  }
  return policy::precheck(policy, call);
}

}  // namespace

bool asks_to_write(const RpcRequest& request) {
  const auto name = request.params.find("name");
  if (request.method != "tools/call" || name == request.params.end() || !name->is_string()) return false;
  const auto tool = policy::find_tool(name->get_ref<const std::string&>());
  return tool && *tool != policy::Tool::inspect_repo;
}

Server::Server(policy::FrontPolicy policy, ServerInfo info)
    : policy_(std::move(policy)),
      info_(std::move(info)),
      instructions_(instructions(policy_)),
      tools_(policy_.workdirs.empty() ? Json::array() : tool_table()) {}

Reply Server::answer(const RpcRequest& request, Rights rights) const {
  const auto decision = decide(request);
  if (!decision) return decision.error();
  switch (decision->method) {
    case Method::initialize:
      return initialize(request);
    case Method::ping:
      return Json::object();
    case Method::discover:
      return dressed(decision->era, discover_result(instructions_), info_, Caching::brief);
    case Method::list_tools:
      return list_tools(decision->era, request.params);
    case Method::call_tool:
      return call_tool(decision->era, request.params, rights);
  }
  std::abort();
}

Reply Server::initialize(const RpcRequest& request) const {
  auto result = initialize_result(request.params, info_, instructions_);
  if (!result) return std::move(result).error();
  return *std::move(result);
}

Reply Server::list_tools(Era era, const Json& params) const {
  // We never hand out a cursor, so whatever comes back is not ours.
  if (params.contains("cursor")) return invalid_params("'cursor' is unknown; all tools are on one page");
  return dressed(era, Json{{"tools", tools_}}, info_, Caching::brief);
}

Reply Server::call_tool(Era era, const Json& params, Rights rights) const {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string()) return invalid_params("'name' must be a string");
  const auto tool = policy::find_tool(name->get_ref<const std::string&>());
  if (!tool || tools_.empty()) {
    return invalid_params("unknown tool " + policy::quoted_name(name->get_ref<const std::string&>()));
  }
  const auto given = params.find("arguments");
  if (given != params.end() && !given->is_object()) return invalid_params("'arguments' must be an object");
  auto token = progress_token(params);
  if (!token) return std::move(token).error();

  Json arguments = given == params.end() ? Json::object() : *given;
  const auto checked = front_has_nothing_against(policy_, rights, *tool, arguments);
  if (!checked) return refused(era, checked.error());
  return PassedCall{.era = era,
                    .tool = std::string(policy::name_of(*tool)),
                    .arguments = std::move(arguments),
                    .progress_token = *std::move(token)};
}

Json Server::refused(Era era, const Error& error) const {
  Json body = wire::error_body(error);
  wire::bound(body, policy_.limits);
  return dressed(era, tool_result(true, body), info_);
}

Json Server::call_result(Era era, const Result<wire::Outcome>& outcome) const {
  if (!outcome) return refused(era, outcome.error());
  return dressed(era, tool_result(outcome->is_error, outcome->body), info_);
}

}  // namespace repobridge::mcp
