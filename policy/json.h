// Strict JSON: the reader for every document that comes from outside, and the reader of one object's fields.
//
// Promise: parse_json() accepts one JSON value and nothing beside it; duplicate keys, depth beyond the limit,
// invalid UTF-8, a byte order mark, NaN, comments and trailing bytes are faults. Its memory is bounded by its
// input, which the caller has bounded. Fields refuses unknown keys, missing keys and wrong types by name; a
// bool is no number. Errors: JsonFault says what and where; Fields refuses with the code it was made with,
// and puts the JSON path into details.argument. Source: RFC 8259; docs/PROTOCOL.md section 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/codes.h"

// Compiled once, in json.cc: every file that holds a value would else compile the library's code again.
extern template class nlohmann::basic_json<>;

namespace repobridge::policy {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxJsonDepth = 32;

struct JsonFault {
  std::string what;         // fixed text, never a part of the input
  std::size_t at_byte = 0;  // how many bytes were read when it was noticed
};

tl::expected<Json, JsonFault> parse_json(std::string_view text);

// Text on one line; bytes that are not UTF-8 become U+FFFD, so that it never fails.
std::string dump_json(const Json& value);

// The name in quotes if it is short and plain, else a phrase: for messages about names that a caller chose.
std::string quoted_name(std::string_view name);

class Fields {
 public:
  // `where` is the JSON path of the object, "" for the top. The object must outlive this.
  static Result<Fields> of(const Json& value, std::string where, const Code& code, std::string prefix = {});

  Result<std::string> text(std::string_view name);
  Result<std::optional<std::string>> optional_text(std::string_view name);
  Result<bool> flag(std::string_view name, bool fallback);
  Result<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most);
  Result<std::int64_t> number_or(std::string_view name, std::int64_t fallback, std::int64_t least,
                                 std::int64_t most);
  Result<std::vector<std::string>> texts(std::string_view name);           // required
  Result<std::vector<std::string>> optional_texts(std::string_view name);  // absent: empty
  // The value itself; nullptr when absent.
  const Json* any(std::string_view name);

  // To be called last: refuses whatever was not asked for.
  [[nodiscard]] Result<void> nothing_else() const;
  // The same, before anything is asked for.
  [[nodiscard]] Result<void> only(const std::vector<std::string_view>& names) const;

  // A refusal about a field of this object.
  [[nodiscard]] Failure refuse_field(std::string_view name, std::string_view problem) const;
  [[nodiscard]] std::string path_of(std::string_view name) const;

 private:
  Fields(const Json& value, std::string where, const Code& code, std::string prefix)
      : value_(&value), where_(std::move(where)), code_(&code), prefix_(std::move(prefix)) {}
  const Json* value_;
  std::string where_;
  const Code* code_;
  std::string prefix_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace repobridge::policy
