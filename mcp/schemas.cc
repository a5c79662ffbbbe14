#include "mcp/schemas.h"

#include "policy/call.h"

namespace repobridge::mcp::schema {
namespace {

Json typed(std::string_view type) { return Json{{"type", type}}; }

Json list(std::initializer_list<std::string_view> names) {
  Json array = Json::array();
  for (const auto name : names) array.push_back(name);
  return array;
}

}  // namespace

Json text(std::string_view description) { return Json{{"type", "string"}, {"description", description}}; }

Json one_of(std::string_view description, const Json& values) {
  return Json{{"type", "string"}, {"enum", values}, {"description", description}};
}

Json whole_number(std::string_view description, std::int64_t least, std::int64_t most) {
  return Json{{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", description}};
}

Json file_names(std::string_view description) {
  return Json{{"type", "array"},
              {"items", string()},
              {"minItems", 1},
              {"maxItems", policy::kMaxPathsPerCall},
              {"description", description}};
}

Json map_of_text(std::string_view description) {
  return Json{{"type", "object"}, {"additionalProperties", string()}, {"description", description}};
}

Json arguments(const Properties& properties, std::initializer_list<std::string_view> required) {
  Json schema = object(properties);
  schema["required"] = list(required);
  schema["additionalProperties"] = false;
  return schema;
}

Json string() { return typed("string"); }
Json integer() { return typed("integer"); }
Json boolean() { return typed("boolean"); }

Json or_null(Json schema) { return Json{{"anyOf", Json::array({std::move(schema), typed("null")})}}; }

Json list_of(Json item) { return Json{{"type", "array"}, {"items", std::move(item)}}; }

Json object(const Properties& properties) {
  Json named = Json::object();
  for (const auto& [name, schema] : properties) named[std::string(name)] = schema;
  return Json{{"type", "object"}, {"properties", std::move(named)}};
}

Json envelope(const Properties& data) {
  const Json identity = object({{"login", string()}, {"mode", string()}, {"sudo", or_null(string())}});
  Json schema = object({{"identity", identity},
                        {"request", typed("object")},
                        {"status", integer()},
                        {"pagination", or_null(typed("object"))},
                        {"untrusted_content", string()},
                        {"data", object(data)}});
  schema["required"] = list({"identity", "request", "status", "pagination", "untrusted_content", "data"});
  return schema;
}

}  // namespace repobridge::mcp::schema
