// JSON Schema as MCP clients of every kind understand it.
//
// Promise: each root is a plain object; no $ref, no list of types, no `true` for a schema and no pattern.
// Objects that we accept are closed, objects that we answer with are open, since an answer may learn to say
// more while clients keep the schema they once read. Source: JSON Schema 2020-12, of which only what draft 7
// has too is used.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/json.h"

namespace repobridge::mcp::schema {

using policy::Json;
using Properties = std::vector<std::pair<std::string_view, Json>>;

Json text(std::string_view description);
Json one_of(std::string_view description, const Json& values);
Json whole_number(std::string_view description, std::int64_t least, std::int64_t most);
Json file_names(std::string_view description);
// An object whose keys are the caller's and whose values are strings.
Json map_of_text(std::string_view description);
// Arguments: closed, with what must be there.
Json arguments(const Properties& properties, std::initializer_list<std::string_view> required);

Json string();
Json integer();
Json boolean();
Json or_null(Json schema);
Json list_of(Json item);
Json object(const Properties& properties);

// The envelope of every success around what the tool's `data` may hold.
Json envelope(const Properties& data);

}  // namespace repobridge::mcp::schema
