#include "mcp/http_ladder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "mcp/revision.h"
#include "policy/json.h"
#include "policy/text.h"

namespace repobridge::mcp {
namespace {

// Says what is wrong, or nothing.
using Fault = std::optional<std::string>;

constexpr std::array kLoopbackNames = {"localhost", "127.0.0.1", "[::1]"};

// What the rungs ask of a message; of a batch they ask nothing, but whether it may come at all.
struct Content {
  std::string_view method;
  const Json* params = nullptr;
  RpcId id;
  bool request = false;
};

Content content_of(const Asked& asked) {
  if ((*asked.input)->batch) return {};
  const RpcMessage& message = *(*asked.input)->items.front();
  if (const auto* request = std::get_if<RpcRequest>(&message)) {
    return {.method = request->method, .params = &request->params, .id = request->id, .request = true};
  }
  if (const auto* notification = std::get_if<RpcNotification>(&message)) {
    return {.method = notification->method, .params = &notification->params};
  }
  return {};
}

Claim claim_of(const Asked& asked) {
  const Content content = content_of(asked);
  return content.params == nullptr ? Claim{} : mcp::claim_of(content.method, *content.params);
}

// Only requests are held to the headers: a modern notification is taken as it comes.
bool is_modern_request(const Asked& asked) { return content_of(asked).request && claim_of(asked).modern; }

// --- before anyone is asked who calls

Fault foreign_host(const Asked& asked) {
  if (asked.hosts == nullptr || asked.hosts->allows_host(asked.head.field("Host"))) return std::nullopt;
  return "the Host of the request is not one of this server's; REPOBRIDGE_FRONT_ALLOWED_HOSTS names them";
}

Fault foreign_origin(const Asked& asked) {
  if (asked.hosts == nullptr || asked.hosts->allows_origin(asked.head.field("Origin"))) return std::nullopt;
  return "the Origin of the request is not allowed; REPOBRIDGE_FRONT_ALLOWED_ORIGINS names those that are";
}

Fault other_path(const Asked& asked) {
  const auto path = asked.head.path();
  if (path == "/mcp" || path == "/mcp/") return std::nullopt;
  // Clients that were refused a token may try to register, and show their user this.
  return "there is nothing here; MCP is at /mcp, and nobody registers or signs in here";
}

// --- before the body is read

Fault other_method(const Asked& asked) {
  if (asked.head.method == "POST") return std::nullopt;
  return "only POST is served: there is no stream to GET and no session to DELETE";
}

Fault other_content(const Asked& asked) {
  if (media_type(asked.head.field("Content-Type").value_or("")) == "application/json") return std::nullopt;
  return "the Content-Type must be application/json";
}

Fault encoded_content(const Asked& asked) {
  const auto encoding = asked.head.field("Content-Encoding");
  if (!encoding || policy::lower_ascii(*encoding) == "identity") return std::nullopt;
  return "the body must not be encoded";
}

Fault takes_no_answer(const Asked& asked) {
  const Accepts accepts = accepts_of(asked.head.field("Accept"));
  if (accepts.json || accepts.events) return std::nullopt;
  return "the Accept header must allow application/json or text/event-stream";
}

Fault other_expectation(const Asked& asked) {
  const auto expected = asked.head.field("Expect");
  if (!expected || policy::lower_ascii(*expected) == "100-continue") return std::nullopt;
  return "the only expectation that is met is 100-continue";
}

Fault announces_too_much(const Asked& asked) {
  const auto length = asked.head.field("Content-Length");
  if (!length) return std::nullopt;
  std::size_t bytes = 0;
  const auto read = std::from_chars(length->data(), length->data() + length->size(), bytes);
  if (read.ec != std::errc::result_out_of_range && bytes <= asked.max_body_bytes) return std::nullopt;
  return "a message must have at most " + std::to_string(asked.max_body_bytes) + " bytes";
}

// --- what the body is

Fault not_json(const Asked& asked) {
  if (*asked.input || asked.input->error().error.code != RpcError::kParseError) return std::nullopt;
  return asked.input->error().error.message;
}

Fault not_a_message(const Asked& asked) {
  if (!*asked.input) return asked.input->error().error.message;
  const RpcInput& input = **asked.input;
  if (input.batch || !std::holds_alternative<RpcResponse>(*input.items.front())) return std::nullopt;
  return "the message must be a request or a notification";
}

Fault batch_not_taken(const Asked& asked) {
  if (!(*asked.input)->batch) return std::nullopt;
  const auto header = asked.head.field("MCP-Protocol-Version");
  return batch_fault(**asked.input, header ? std::string_view(*header) : kBatchRevision);
}

// --- which era it belongs to

Fault header_alone_is_modern(const Asked& asked) {
  const Content content = content_of(asked);
  const auto header = asked.head.field("MCP-Protocol-Version");
  if (!content.request || content.method == "initialize" || claim_of(asked).modern) return std::nullopt;
  if (!header || !names_modern_revision(*header)) return std::nullopt;
  return missing_envelope_text();
}

Fault unknown_legacy_revision(const Asked& asked) {
  const Content content = content_of(asked);
  const auto header = asked.head.field("MCP-Protocol-Version");
  if (!header || content.method == "initialize" || claim_of(asked).modern) return std::nullopt;
  if (names_modern_revision(*header) || is_legacy_revision(*header)) return std::nullopt;
  return "the MCP-Protocol-Version header names a revision that is not served";
}

// --- a modern request and its headers

Fault malformed_envelope(const Asked& asked) {
  return is_modern_request(asked) ? claim_of(asked).fault : std::nullopt;
}

Fault other_version_in_header(const Asked& asked) {
  const auto header = asked.head.field("MCP-Protocol-Version");
  if (!is_modern_request(asked) || !header || *header == claim_of(asked).version) return std::nullopt;
  return "the MCP-Protocol-Version header and the body's envelope name different revisions";
}

Fault other_method_in_header(const Asked& asked) {
  const auto header = asked.head.field("Mcp-Method");
  if (!is_modern_request(asked) || !header || *header == content_of(asked).method) return std::nullopt;
  return "the Mcp-Method header and the body name different methods";
}

Fault unserved_revision(const Asked& asked) {
  if (!is_modern_request(asked) || claim_of(asked).served) return std::nullopt;
  return unsupported_revision(claim_of(asked).version).message;
}

Fault no_version_in_header(const Asked& asked) {
  if (!is_modern_request(asked) || asked.head.field("MCP-Protocol-Version")) return std::nullopt;
  return "the MCP-Protocol-Version header is missing";
}

Fault no_method_in_header(const Asked& asked) {
  if (!is_modern_request(asked) || asked.head.field("Mcp-Method")) return std::nullopt;
  return "the Mcp-Method header is missing";
}

// What the request is about, for methods whose header must say it too.
const std::string* subject_of(const Content& content) {
  const auto key = [&]() -> std::string_view {
    if (content.method == "tools/call" || content.method == "prompts/get") return "name";
    if (content.method == "resources/read") return "uri";
    return content.method.starts_with("tasks/") ? "taskId" : "";
  }();
  const auto found = content.params->find(key);
  if (key.empty() || found == content.params->end() || !found->is_string()) return nullptr;
  return found->get_ptr<const std::string*>();
}

Fault other_name_in_header(const Asked& asked) {
  if (!is_modern_request(asked)) return std::nullopt;
  const Content content = content_of(asked);
  const std::string* subject = subject_of(content);
  if (subject == nullptr) return std::nullopt;
  const auto header = asked.head.field("Mcp-Name");
  if (!header) return "the Mcp-Name header is missing";
  if (decoded_field(*header) == *subject) return std::nullopt;
  return "the Mcp-Name header and the body name different things";
}

Fault unknown_method(const Asked& asked) {
  if (!is_modern_request(asked)) return std::nullopt;
  const auto decision = decide(std::get<RpcRequest>(*(*asked.input)->items.front()));
  if (decision || decision.error().code != RpcError::kMethodNotFound) return std::nullopt;
  return decision.error().message;
}

struct Rung {
  Stage stage;
  int status;
  int code;
  Fault (*fault)(const Asked&);
};

// No tool has a parameter with a header of its own (x-mcp-header), so no Mcp-Param-… can disagree.
constexpr std::array kLadder{
    Rung{Stage::door, 403, RpcError::kInvalidRequest, foreign_host},
    Rung{Stage::door, 403, RpcError::kInvalidRequest, foreign_origin},
    Rung{Stage::door, 404, RpcError::kInvalidRequest, other_path},
    // Here it is asked who calls: 401, 403 or 503.
    Rung{Stage::head, 405, RpcError::kInvalidRequest, other_method},
    Rung{Stage::head, 415, RpcError::kInvalidRequest, other_content},
    Rung{Stage::head, 415, RpcError::kInvalidRequest, encoded_content},
    Rung{Stage::head, 406, RpcError::kInvalidRequest, takes_no_answer},
    Rung{Stage::head, 417, RpcError::kInvalidRequest, other_expectation},
    Rung{Stage::head, 413, RpcError::kInvalidRequest, announces_too_much},
    // Here the body is read: 408, 413.
    Rung{Stage::message, 400, RpcError::kParseError, not_json},
    Rung{Stage::message, 400, RpcError::kInvalidRequest, not_a_message},
    Rung{Stage::message, 400, RpcError::kInvalidRequest, batch_not_taken},
    Rung{Stage::message, 400, RpcError::kInvalidParams, header_alone_is_modern},
    Rung{Stage::message, 400, RpcError::kInvalidRequest, unknown_legacy_revision},
    Rung{Stage::message, 400, RpcError::kInvalidParams, malformed_envelope},
    Rung{Stage::message, 400, kHeaderMismatch, other_version_in_header},
    Rung{Stage::message, 400, kHeaderMismatch, other_method_in_header},
    Rung{Stage::message, 400, kUnsupportedRevision, unserved_revision},
    Rung{Stage::message, 400, kHeaderMismatch, no_version_in_header},
    Rung{Stage::message, 400, kHeaderMismatch, no_method_in_header},
    Rung{Stage::message, 400, kHeaderMismatch, other_name_in_header},
    Rung{Stage::message, 404, RpcError::kMethodNotFound, unknown_method},
};

RpcId id_of(const Asked& asked) {
  if (asked.input == nullptr) return nullptr;
  return *asked.input ? content_of(asked).id : asked.input->error().id;
}

HttpReply refusal(const Rung& rung, std::string message, const Asked& asked) {
  RpcError error{.code = rung.code, .message = std::move(message)};
  if (rung.code == kUnsupportedRevision) error = unsupported_revision(claim_of(asked).version);
  HttpReply reply = rpc_refusal(rung.status, error, id_of(asked));
  constexpr int kMethodNotAllowed = 405;
  if (rung.status == kMethodNotAllowed) reply.fields.emplace_back("Allow", "POST");
  return reply;
}

}  // namespace

HostRules::HostRules(const policy::HttpPolicy& policy)
    : hosts_(policy.allowed_hosts), origins_(policy.allowed_origins) {
  hosts_.insert(hosts_.end(), kLoopbackNames.begin(), kLoopbackNames.end());
}

bool HostRules::allows_host(const std::optional<std::string>& host) const {
  const auto name = host_name_in(host.value_or(""));
  return name && std::ranges::find(hosts_, *name) != hosts_.end();
}

bool HostRules::allows_origin(const std::optional<std::string>& origin) const {
  if (!origin) return true;  // no browser
  const auto text = policy::lower_ascii(*origin);
  if (std::ranges::find(origins_, text) != origins_.end()) return true;
  if (!policy::is_origin(text)) return false;
  const bool web = text.starts_with("http://") || text.starts_with("https://");
  const auto name = host_name_in(std::string_view(text).substr(text.find("://") + 3));
  return web && name && std::ranges::find(kLoopbackNames, *name) != kLoopbackNames.end();
}

std::optional<HttpReply> refuse(Stage stage, const Asked& asked) {
  for (const Rung& rung : kLadder) {
    if (rung.stage != stage) continue;
    if (auto fault = rung.fault(asked)) return refusal(rung, *std::move(fault), asked);
  }
  return std::nullopt;
}

HttpReply rpc_refusal(int status, const RpcError& error, const RpcId& id) {
  return HttpReply{.status = status, .body = policy::dump_json(error_message(id, error))};
}

}  // namespace repobridge::mcp
