#include "policy/json.h"

#include <algorithm>
#include <cctype>

template class nlohmann::basic_json<>;

namespace repobridge::policy {
namespace {

constexpr const char* kNotJson = "the text is not valid JSON";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The text, counted as it is read: the parser tells a reader what it met, but not where.
class Counted {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Counted(const char* at, std::size_t& read) : at_(at), read_(&read) {}
  reference operator*() const { return *at_; }
  Counted& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  friend bool operator==(const Counted& a, const Counted& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* read_;
};

// Builds the value as the parser walks the text, which is where duplicates and depth can still be seen.
class StrictReader final : public nlohmann::json_sax<Json> {
 public:
  explicit StrictReader(const std::size_t& read) : read_(&read) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return stop("binary values are not JSON"); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name)) return stop("an object has the same key twice");
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    fault_ = {.what = kNotJson, .at_byte = position};
    return false;
  }

  Json root;

  [[nodiscard]] JsonFault fault() const { return fault_; }

 private:
  bool put(Json value) {
    (void)place(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (open_.size() >= kMaxJsonDepth) return stop("the JSON is nested too deeply");
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json* place(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& slot = parent[key_];
    slot = std::move(value);
    return &slot;
  }

  bool stop(std::string what) {
    fault_ = {.what = std::move(what), .at_byte = *read_};
    return false;
  }

  std::vector<Json*>
      open_;  // a parent gets no further element while a child of it is open, so these stay valid
  std::string key_;
  const std::size_t* read_;
  JsonFault fault_{.what = kNotJson};
};

}  // namespace

tl::expected<Json, JsonFault> parse_json(std::string_view text) {
  // The library would skip the one and take the other for the end of the text, whatever follows.
  const auto nul = text.find('\0');
  if (nul != std::string_view::npos || text.starts_with(kByteOrderMark)) {
    return tl::unexpected(
        JsonFault{.what = kNotJson, .at_byte = nul == std::string_view::npos ? 1 : nul + 1});
  }
  std::size_t read = 0;
  StrictReader reader(read);
  const Counted begin(text.data(), read);
  const Counted end(text.data() + text.size(), read);
  if (!Json::sax_parse(begin, end, &reader)) return tl::unexpected(reader.fault());
  return std::move(reader.root);
}

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLongest = 128;
  const bool plain =
      !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '[' || c == ']';
      });
  return plain ? "'" + std::string(name) + "'" : "(a name that is not plain text)";
}

Result<Fields> Fields::of(const Json& value, std::string where, const Code& code, std::string prefix) {
  Fields fields(value, std::move(where), code, std::move(prefix));
  if (!value.is_object()) return fields.refuse_field("", "must be an object");
  return fields;
}

std::string Fields::path_of(std::string_view name) const {
  if (where_.empty() || name.empty()) return where_ + std::string(name);
  return where_ + "." + std::string(name);
}

Failure Fields::refuse_field(std::string_view name, std::string_view problem) const {
  const std::string path = path_of(name);
  const std::string subject = path.empty() ? "the value" : quoted_name(path);
  return refuse(*code_, prefix_ + subject + " " + std::string(problem), Json{{"argument", path}});
}

const Json* Fields::any(std::string_view name) {
  asked_.emplace(name);
  const auto found = value_->find(name);
  return found == value_->end() ? nullptr : &*found;
}

Result<std::string> Fields::text(std::string_view name) {
  RB_TRY(auto value, optional_text(name));
  if (!value) return refuse_field(name, "is missing");
  return *std::move(value);
}

Result<std::optional<std::string>> Fields::optional_text(std::string_view name) {
  const Json* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return refuse_field(name, "must be a string");
  return value->get<std::string>();
}

Result<bool> Fields::flag(std::string_view name, bool fallback) {
  const Json* value = any(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return refuse_field(name, "must be true or false");
  return value->get<bool>();
}

Result<std::int64_t> Fields::number(std::string_view name, std::int64_t least, std::int64_t most) {
  if (any(name) == nullptr) return refuse_field(name, "is missing");
  return number_or(name, least, least, most);
}

Result<std::int64_t> Fields::number_or(std::string_view name, std::int64_t fallback, std::int64_t least,
                                       std::int64_t most) {
  const Json* value = any(name);
  if (value == nullptr) return fallback;
  const bool in_range = value->is_number_integer() &&
                        (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX) &&
                        value->get<std::int64_t>() >= least && value->get<std::int64_t>() <= most;
  if (!in_range) {
    return refuse_field(
        name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value->get<std::int64_t>();
}

Result<std::vector<std::string>> Fields::texts(std::string_view name) {
  if (any(name) == nullptr) return refuse_field(name, "is missing");
  return optional_texts(name);
}

Result<std::vector<std::string>> Fields::optional_texts(std::string_view name) {
  const Json* value = any(name);
  std::vector<std::string> list;
  if (value == nullptr) return list;
  const bool strings =
      value->is_array() && std::ranges::all_of(*value, [](const Json& item) { return item.is_string(); });
  if (!strings) return refuse_field(name, "must be an array of strings");
  for (const Json& item : *value) list.push_back(item.get<std::string>());
  return list;
}

Result<void> Fields::only(const std::vector<std::string_view>& names) const {
  std::string known;
  for (const auto name : names) known += (known.empty() ? "" : ", ") + std::string(name);
  for (const auto& [name, value] : value_->items()) {
    if (std::ranges::find(names, name) == names.end()) {
      return refuse_field(name, "is not known here; known are: " + known);
    }
  }
  return {};
}

Result<void> Fields::nothing_else() const {
  for (const auto& [name, value] : value_->items()) {
    if (!asked_.contains(name)) return refuse_field(name, "is not known here");
  }
  return {};
}

}  // namespace repobridge::policy
