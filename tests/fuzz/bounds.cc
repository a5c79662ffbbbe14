// Making an answer fit: whatever the data, what comes out is within both limits and still an answer.
#include "bridge/wire/bounds.h"

#include <algorithm>

#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

using policy::Json;

constexpr policy::Limits kLimits{.max_response_items = 8, .max_response_chars = policy::Limits::kLeastChars};

bool lists_are_short(const Json& value) {
  if (value.is_array() && value.size() > kLimits.max_response_items) return false;
  return !value.is_structured() || std::ranges::all_of(value, lists_are_short);
}

void check(Json body) {
  wire::bound(body, kLimits);

  const std::string text = policy::dump_json(body);
  must(text.size() <= kLimits.max_response_chars, "an answer has at most max_response_chars bytes");
  must(policy::parse_json(text).has_value(), "an answer is JSON");
  if (body.contains("data")) {
    must(lists_are_short(body["data"]), "a list has at most max_response_items elements");
  }
  Json again = body;
  wire::bound(again, kLimits);
  must(again == body, "what fits is left alone");
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto data = policy::parse_json(bytes);
  if (!data || !data->is_object()) return;
  check(Json{{"request", {{"tool", "inspect_repo"}}}, {"status", 200}, {"data", *data}});
  check(Json{{"error", {{"code", "INVALID_PATH"}, {"message", "no"}, {"details", *data}}}});
}

}  // namespace repobridge::fuzz
