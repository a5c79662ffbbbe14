#include "bridge/runs/run_json.h"

#include "policy/call.h"
#include "policy/codes.h"

namespace repobridge::runs {
namespace {

using policy::Json;

Json base_json(const RunFacts& facts, std::chrono::milliseconds duration, const char* state) {
  return Json{{"run_id", facts.id},
              {"tool", facts.tool},
              {"action", facts.action.empty() ? Json() : Json(facts.action)},
              {"state", state},
              {"started_at", facts.since},
              {"duration_ms", duration.count()}};
}

bool runs_an_action(const RunFacts& facts) {
  return facts.tool == policy::name_of(policy::Tool::run_repo_action);
}

Error error_in(const Json& body) {
  const Json& error = body.at("error");
  const policy::Code* code = policy::find_code(error.value("code", ""));
  if (code == nullptr) code = &policy::codes::kInternalError;
  auto failure = error.contains("details")
                     ? policy::refuse(*code, error.value("message", ""), error.at("details"))
                     : policy::refuse(*code, error.value("message", ""));
  return std::move(failure).value();
}

}  // namespace

Json running_json(const TrackedRun& run) {
  Json json = base_json(run.facts(), run.duration(), "running");
  json["output_bytes"] = run.output()->bytes();
  return json;
}

Json interrupted_json(const RunFacts& facts) {
  Json json = base_json(facts, std::chrono::milliseconds{0}, "killed");
  json["reason"] = "bridge_restarted";
  return json;
}

Result<Json> ended_json(const TrackedRun& run) {
  const wire::Outcome& outcome = *run.outcome();
  if (outcome.is_error) return fail(error_in(outcome.body));
  const Json& data = outcome.body.at("data");
  if (runs_an_action(run.facts()) || data.contains("run_id")) return data;
  Json json = base_json(run.facts(), run.duration(), "finished");
  json["result"] = data;
  return json;
}

}  // namespace repobridge::runs
