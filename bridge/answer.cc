#include "bridge/answer.h"

#include "bridge/log.h"
#include "bridge/wire/bounds.h"
#include "bridge/wire/envelope.h"
#include "policy/codes.h"

namespace repobridge::bridge {
namespace {

namespace codes = policy::codes;
using policy::Json;

// What the answer repeats of the question.
Json echo_of(const policy::Call& call) {
  Json echo{{"tool", name_of(policy::tool_of(call))}};
  if (!policy::workdir_of(call).empty()) echo["workdir"] = policy::workdir_of(call);
  if (const auto* inspect = std::get_if<policy::InspectCall>(&call)) {
    echo["view"] = name_of(inspect->view);
    if (inspect->run_id) echo["run_id"] = *inspect->run_id;
  }
  if (const auto* run = std::get_if<policy::RunActionCall>(&call)) {
    echo["action"] = run->action;
    if (run->path) echo["path"] = run->path->text();
  }
  return echo;
}

// Errors of the rooms below have names of their own that callers have no use for.
Error for_caller(Error error) {
  if (policy::find_code(error.code) != nullptr && error.code != codes::kInternalError.name) return error;
  log_fault(error);
  return Error{.kind = Kind::internal,
               .code = std::string(codes::kInternalError.name),
               .message = "the bridge met a fault of its host or its own; its log says more"};
}

wire::Outcome finished(const Parts& parts, Json body, bool is_error) {
  if (auto redacted = parts.redactor.apply(body); !redacted) {
    body = wire::error_body(redacted.error());
    is_error = true;
  }
  wire::bound(body, parts.policy.limits);
  return wire::Outcome{.is_error = is_error, .body = std::move(body)};
}

}  // namespace

wire::Outcome answer_of(const Parts& parts, const policy::Call& call, const wire::Caller& caller,
                        Result<Json> data) {
  if (!data) return refusal_of(parts, std::move(data).error());
  wire::Success success{.caller = caller, .request = echo_of(call), .data = *std::move(data)};
  return finished(parts, wire::envelope(std::move(success)), false);
}

wire::Outcome refusal_of(const Parts& parts, Error error) {
  return finished(parts, wire::error_body(for_caller(std::move(error))), true);
}

wire::Outcome outcome_of(const Error& error) {
  return wire::Outcome{.is_error = true, .body = wire::error_body(for_caller(error))};
}

std::string code_in(const wire::Outcome& outcome) {
  return outcome.is_error ? outcome.body["error"]["code"].get<std::string>() : "ok";
}

}  // namespace repobridge::bridge
