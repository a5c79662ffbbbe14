// Arguments of the tools: what is accepted passes the tool's own published schema, and means a call whose
// parts are in order. The first line of the input names the tool; the rest is the arguments' JSON.
#include <algorithm>
#include <set>

#include "mcp/tools.h"
#include "policy/call.h"
#include "policy/commit_message.h"
#include "policy/decide.h"
#include "tests/fuzz/target.h"
#include "tests/unit/mcp/samples.h"

namespace repobridge::fuzz {
namespace {

using policy::Json;

bool passes(const Json& schema, const Json& value);

bool object_passes(const Json& schema, const Json& value) {
  const Json properties = schema.value("properties", Json::object());
  const auto required = schema.value("required", std::vector<std::string>());
  const Json others = schema.value("additionalProperties", Json(true));
  if (!std::ranges::all_of(required, [&](const auto& name) { return value.contains(name); })) return false;
  for (const auto& [name, item] : value.items()) {
    const Json& rule = properties.contains(name) ? properties[name] : others;
    if (rule.is_boolean() ? !rule.get<bool>() : !passes(rule, item)) return false;
  }
  return true;
}

// As much of JSON Schema as the tools' arguments use; anything else in a schema ends the test.
bool passes(const Json& schema, const Json& value) {
  static const std::set<std::string, std::less<>> kKnown = {
      "type",     "properties", "required", "additionalProperties", "items",
      "minItems", "maxItems",   "enum",     "description"};
  for (const auto& [keyword, unused] : schema.items())
    must(kKnown.contains(keyword), "a keyword is known here");
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
    return false;
  const std::string type = schema.value("type", "");
  if (type == "string") return value.is_string();
  if (type == "object") return value.is_object() && object_passes(schema, value);
  must(type == "array", "a type is known here");
  return value.is_array() && value.size() >= schema.value("minItems", 0U) &&
         value.size() <= schema.value("maxItems", SIZE_MAX) &&
         std::ranges::all_of(value, [&](const Json& item) { return passes(schema["items"], item); });
}

Json schema_of(std::string_view tool) {
  static const Json kTable = mcp::tool_table();
  const auto found = std::ranges::find_if(kTable, [&](const Json& row) { return row["name"] == tool; });
  must(found != kTable.end(), "every tool is in the table");
  return (*found)["inputSchema"];
}

void check_call(const policy::Call& call) {
  const auto& paths = policy::paths_of(call);
  must(std::ranges::is_sorted(paths) && std::ranges::adjacent_find(paths) == paths.end(),
       "paths are sorted, each once");
  if (const auto* commit = std::get_if<policy::CommitCall>(&call)) {
    const auto message = policy::checked_commit_message(commit->message);
    must(message && *message == commit->message, "a message stays what it was made");
    must(!paths.empty(), "a commit names files");
  }
  const auto verdict = policy::precheck(mcp::sample_policy(), call);
  must(!verdict || policy::workdir_of(call) == "app" || !policy::writes(call), "docs may not be written");
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto parts = parts_of(bytes, 2, '\n');
  const auto tool = policy::find_tool(parts[0]);
  const auto arguments = policy::parse_json(parts[1]);
  if (!tool || !arguments) return;
  const auto call = policy::parse_call(*tool, *arguments);
  if (!call) {
    must(call.error().kind == Kind::invalid || call.error().kind == Kind::forbidden,
         "a refusal is the caller's");
    return;
  }
  must(passes(schema_of(parts[0]), *arguments), "an accepted call passes the tool's own schema");
  must(policy::tool_of(*call) == *tool, "a call is of its tool");
  check_call(*call);
}

}  // namespace repobridge::fuzz
