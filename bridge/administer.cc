#include "bridge/administer.h"

#include "bridge/administrator_key.h"
#include "bridge/answer.h"
#include "bridge/log.h"
#include "bridge/runs/run_json.h"
#include "platform/digest.h"
#include "policy/codes.h"

namespace repobridge::bridge {
namespace {

namespace codes = policy::codes;
using policy::Fields;
using policy::Json;
using TrackedRun = std::shared_ptr<runs::TrackedRun>;

// Of each stream in one answer, well within a frame.
constexpr std::size_t kMostShown = std::size_t{256} << 10U;
constexpr std::int64_t kLongestWait = 20;  // seconds; shorter than what ends an idle connection

Json summary_of(const runs::TrackedRun& run) {
  const auto& facts = run.facts();
  Json json{{"run_id", facts.id},
            {"workdir", facts.workdir},
            {"front", facts.owner.front},
            {"caller", facts.owner.caller},
            {"tool", facts.tool},
            {"action", facts.action},
            {"started_at", facts.since},
            {"duration_ms", run.duration().count()},
            {"output_bytes", run.output()->bytes()},
            {"state", "running"},
            {"code", nullptr}};
  if (!run.outcome()) return json;
  const bool refused = run.outcome()->is_error;
  json["state"] = refused ? "refused" : run.outcome()->body["data"].value("state", "finished");
  json["code"] = code_in(*run.outcome());
  return json;
}

// An unfinished character at the end waits for its rest.
std::string_view whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;  // continues a character that began further ahead
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return length > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

Json stream_after(const runs::TrackedRun& run, runs::Stream stream, std::size_t position) {
  const auto& output = *run.output();
  std::string_view text = output.after(stream, position);
  // What is no longer kept was passed over.
  const std::size_t begin = output.bytes(stream) - text.size();
  text = text.substr(0, kMostShown);
  if (!run.outcome()) text = whole_characters(text);
  return Json{{"from", begin}, {"to", begin + text.size()}, {"text", std::string(text)}};
}

Result<std::size_t> position_in(Fields& fields, std::string_view name) {
  RB_TRY(const auto position, fields.number_or(name, 0, 0, INT64_MAX));
  return static_cast<std::size_t>(position);
}

asio::awaitable<Result<Json>> show(asio::any_io_executor executor, Parts& parts, Fields fields) {
  RB_CO_TRY(const auto id, fields.text("run_id"));
  RB_CO_TRY(const auto out_from, position_in(fields, "out_from"));
  RB_CO_TRY(const auto err_from, position_in(fields, "err_from"));
  RB_CO_TRY(const auto wait, fields.number_or("wait_seconds", 0, 0, kLongestWait));
  RB_CO_CHECK(fields.nothing_else());
  RB_CO_TRY(const auto run, parts.runs.find_any(id));
  const auto patience = platform::Deadline::after(std::chrono::seconds(wait));
  co_await runs::TrackedRun::wait_for_more(run, executor, out_from + err_from, patience);
  Json json = summary_of(*run);
  json["stdout"] = stream_after(*run, runs::Stream::out, out_from);
  json["stderr"] = stream_after(*run, runs::Stream::err, err_from);
  if (run->outcome()) {
    const char* part = run->outcome()->is_error ? "error" : "data";
    json["answer"] = run->outcome()->body[part];
  }
  co_return json;
}

Json list(const Parts& parts) {
  Json all = Json::array();
  for (const auto& run : parts.runs.all()) all.push_back(summary_of(*run));
  return Json{{"runs", std::move(all)}};
}

Result<Json> cancel(Parts& parts, const wire::Request& request, Fields fields) {
  RB_TRY(const auto id, fields.text("run_id"));
  RB_CHECK(fields.nothing_else());
  RB_TRY(const auto run, parts.runs.find_any(id));
  if (run->outcome()) return summary_of(*run);
  Audit::Call record{.id = request.id,
                     .front = std::string(kAdministrator),
                     .caller = request.caller,
                     .tool = request.tool,
                     .workdir = run->facts().workdir,
                     .detail = id,
                     .arguments_sha256 = platform::sha256_hex(policy::dump_json(request.arguments)),
                     .writes = true};
  RB_CHECK(parts.audit.begin(record));
  run->stop();
  Json answer = summary_of(*run);
  if (auto noted = parts.audit.end(record, "ok", answer, std::chrono::milliseconds{0}); !noted) {
    log_fault(noted.error());
  }
  return answer;
}

asio::awaitable<Result<Json>> answer(asio::any_io_executor executor, Parts& parts, wire::Request request) {
  RB_CO_TRY(auto fields, Fields::of(request.arguments, "", codes::kInvalidRequest));
  if (request.tool == "runs list") {
    RB_CO_CHECK(fields.nothing_else());
    co_return list(parts);
  }
  if (request.tool == "runs cancel") co_return cancel(parts, request, std::move(fields));
  if (request.tool == "runs show") {
    auto shown = co_await show(executor, parts, std::move(fields));
    co_return shown;
  }
  co_return policy::refuse(codes::kInvalidRequest, "the bridge does not know this question");
}

}  // namespace

asio::awaitable<wire::Outcome> administer(asio::any_io_executor executor, Parts& parts,
                                          wire::Request request) {
  auto answered = co_await answer(executor, parts, std::move(request));
  if (!answered) co_return outcome_of(answered.error());
  Json body{{"data", *std::move(answered)}};
  co_return wire::Outcome{.is_error = false, .body = std::move(body)};
}

}  // namespace repobridge::bridge
