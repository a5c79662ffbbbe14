#include "bridge/git/worker_protocol.h"

#include "policy/codes.h"

namespace repobridge::git {

using policy::Json;

std::string encode_success(const Json& data) { return policy::dump_json(Json{{"ok", true}, {"data", data}}); }

std::string encode_failure(const Error& error) {
  Json inner{{"code", error.code}, {"message", error.message}};
  if (error.details) inner["details"] = *error.details;
  return policy::dump_json(Json{{"ok", false}, {"error", std::move(inner)}});
}

std::string encode_step(const char* step, Json fields) {
  fields["step"] = step;
  return policy::dump_json(fields);
}

Result<Json> decode_answer(const Json& answer) {
  const auto ok = answer.find("ok");
  if (ok != answer.end() && *ok == true && answer.contains("data")) return answer["data"];
  const auto malformed = [] {
    return policy::refuse(policy::codes::kInternalError, "the git worker gave an answer of no known form");
  };
  if (ok == answer.end() || *ok != false || !answer.contains("error")) return malformed();
  const Json& error = answer["error"];
  if (!error.contains("code") || !error["code"].is_string() || !error.contains("message") ||
      !error["message"].is_string()) {
    return malformed();
  }
  const auto* code = policy::find_code(error["code"].get<std::string>());
  if (code == nullptr) code = &policy::codes::kInternalError;
  const auto message = error["message"].get<std::string>();
  if (!error.contains("details")) return policy::refuse(*code, message);
  return policy::refuse(*code, message, error["details"]);
}

}  // namespace repobridge::git
