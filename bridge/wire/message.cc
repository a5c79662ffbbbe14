#include "bridge/wire/message.h"

#include <algorithm>

#include "policy/codes.h"

namespace repobridge::wire {
namespace {

using policy::Fields;
using policy::Json;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

constexpr std::size_t kMostVersions = 16;
constexpr std::int64_t kHighestNumber = INT64_MAX;
constexpr std::size_t kMaxClaimBytes = 256;

Result<Json> parse(std::string_view body) {
  auto value = policy::parse_json(body);
  if (value) return *std::move(value);
  return policy::refuse(policy::codes::kInvalidRequest, "a message is refused: " + value.error().what);
}

Result<Json> object_in(Fields& fields, std::string_view name) {
  const Json* value = fields.any(name);
  if (value == nullptr || !value->is_object()) return fields.refuse_field(name, "must be an object");
  return *value;
}

Result<FromClient> read_client_hello(Fields& fields) {
  ClientHello hello;
  const Json* versions = fields.any("versions");
  const bool numbers =
      versions != nullptr && versions->is_array() && !versions->empty() &&
      versions->size() <= kMostVersions && std::ranges::all_of(*versions, [](const Json& v) {
        return v.is_number_unsigned() && v.get<std::uint64_t>() <= std::uint64_t{kHighestNumber};
      });
  if (!numbers) return fields.refuse_field("versions", "must be an array of 1 to 16 whole numbers");
  for (const Json& version : *versions) hello.versions.push_back(version.get<std::int64_t>());
  RB_TRY(hello.policy_digest, fields.text("policy_digest"));
  return hello;
}

// A front's claim, which goes into every answer and the audit: short, and no characters that a terminal
// obeys.
Result<std::string> read_claim(Fields& fields, std::string_view name) {
  RB_TRY(auto text, fields.text(name));
  const bool plain = text.size() <= kMaxClaimBytes && std::ranges::none_of(text, [](char c) {
                       const auto value = static_cast<unsigned char>(c);
                       return value < 0x20 || value == 0x7F;
                     });
  if (!plain) return fields.refuse_field(name, "has more than 256 bytes or a control character");
  return text;
}

Result<Caller> read_caller(const Json& value) {
  RB_TRY(auto fields, Fields::of(value, "caller", policy::codes::kInvalidRequest));
  Caller caller;
  RB_TRY(caller.login, read_claim(fields, "login"));
  RB_TRY(caller.mode, read_claim(fields, "mode"));
  RB_CHECK(fields.nothing_else());
  return caller;
}

Result<FromClient> read_request(Fields& fields) {
  Request request;
  RB_TRY(request.id, fields.text("id"));
  const bool hex = request.id.size() == 32 && std::ranges::all_of(request.id, [](char c) {
                     return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                   });
  if (!hex) return fields.refuse_field("id", "must be 32 lower-case hex digits");
  RB_TRY(request.tool, fields.text("tool"));
  RB_TRY(request.arguments, object_in(fields, "arguments"));
  RB_TRY(const auto caller, object_in(fields, "caller"));
  RB_TRY(request.caller, read_caller(caller));
  return request;
}

Result<FromServer> read_server_hello(Fields& fields) {
  ServerHello hello;
  RB_TRY(hello.version, fields.number("version", 1, kHighestNumber));
  RB_TRY(hello.policy_digest, fields.text("policy_digest"));
  RB_TRY(hello.generation, fields.text("generation"));
  return hello;
}

Result<FromServer> read_progress(Fields& fields) {
  Progress progress;
  RB_TRY(progress.elapsed_ms, fields.number("elapsed_ms", 0, kHighestNumber));
  RB_TRY(progress.output_bytes, fields.number("output_bytes", 0, kHighestNumber));
  return progress;
}

Result<FromServer> read_outcome(Fields& fields) {
  Outcome outcome;
  if (fields.any("is_error") == nullptr) return fields.refuse_field("is_error", "is missing");
  RB_TRY(outcome.is_error, fields.flag("is_error", true));
  RB_TRY(outcome.body, object_in(fields, "body"));
  return outcome;
}

template <class Message>
using Reader = Result<Message> (*)(Fields&);

template <class Message>
struct Row {
  std::string_view type;
  Reader<Message> read;
};

// Whatever is not in the table of its direction is refused.
constexpr std::array<Row<FromClient>, 3> kFromClient{{
    {"hello", read_client_hello},
    {"request", read_request},
    {"cancel", [](Fields&) -> Result<FromClient> { return Cancel{}; }},
}};
constexpr std::array<Row<FromServer>, 3> kFromServer{{
    {"hello", read_server_hello},
    {"progress", read_progress},
    {"result", read_outcome},
}};

template <class Message, std::size_t N>
Result<Message> decode(std::string_view body, const std::array<Row<Message>, N>& rows) {
  RB_TRY(const auto value, parse(body));
  RB_TRY(auto fields, Fields::of(value, "", policy::codes::kInvalidRequest));
  RB_TRY(const auto type, fields.text("type"));
  const auto* row = std::ranges::find(rows, type, &Row<Message>::type);
  if (row == rows.end()) return fields.refuse_field("type", "is no message of this direction");
  RB_TRY(auto message, row->read(fields));
  RB_CHECK(fields.nothing_else());
  return message;
}

}  // namespace

std::string encode(const FromClient& message) {
  return policy::dump_json(std::visit(
      Overloaded{[](const ClientHello& hello) {
                   return Json{{"type", "hello"},
                               {"versions", hello.versions},
                               {"policy_digest", hello.policy_digest}};
                 },
                 [](const Request& request) {
                   return Json{{"type", "request"},
                               {"id", request.id},
                               {"tool", request.tool},
                               {"arguments", request.arguments},
                               {"caller", {{"login", request.caller.login}, {"mode", request.caller.mode}}}};
                 },
                 [](const Cancel&) {
                   return Json{{"type", "cancel"}};
                 }},
      message));
}

std::string encode(const FromServer& message) {
  return policy::dump_json(std::visit(
      Overloaded{[](const ServerHello& hello) {
                   return Json{{"type", "hello"},
                               {"version", hello.version},
                               {"policy_digest", hello.policy_digest},
                               {"generation", hello.generation}};
                 },
                 [](const Progress& progress) {
                   return Json{{"type", "progress"},
                               {"elapsed_ms", progress.elapsed_ms},
                               {"output_bytes", progress.output_bytes}};
                 },
                 [](const Outcome& outcome) {
                   return Json{{"type", "result"}, {"is_error", outcome.is_error}, {"body", outcome.body}};
                 }},
      message));
}

Result<FromClient> decode_from_client(std::string_view body) { return decode(body, kFromClient); }

Result<FromServer> decode_from_server(std::string_view body) { return decode(body, kFromServer); }

Result<void> negotiate(const ClientHello& hello) {
  if (std::ranges::find(hello.versions, kProtocolVersion) != hello.versions.end()) return {};
  return policy::refuse(policy::codes::kProtocolVersionUnsupported,
                        "front and bridge speak no common version; install both from one release");
}

}  // namespace repobridge::wire
