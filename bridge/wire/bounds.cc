#include "bridge/wire/bounds.h"

#include <algorithm>
#include <vector>

#include "policy/text.h"

namespace repobridge::wire {
namespace {

using policy::Json;

// Texts below this are left alone: names, codes, subjects.
constexpr std::size_t kLongText = 512;
// What the mark of a cut text may add to the text's name: ,"_truncated":true
constexpr std::size_t kRoomForAMark = 20;

std::size_t bytes_in_json(char c) {
  const auto value = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t') return 2;
  return value < 0x20 ? 6 : 1;
}

std::size_t bytes_in_json(std::string_view text) {
  std::size_t total = 0;
  for (const char c : text) total += bytes_in_json(c);
  return total;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

struct LongText {
  Json* owner;  // the object that holds it
  std::string name;
  std::size_t bytes;
};

// What takes its place in the output anyway is put there now, so that its bytes can be counted.
void replace_what_is_not_utf8(Json& text) {
  if (!policy::is_utf8(text.get_ref<const std::string&>())) text = Json::parse(policy::dump_json(text));
}

void collect_long_texts(Json& value, std::vector<LongText>& found) {
  if (value.is_object()) {
    for (auto& [name, item] : value.items()) {
      if (!item.is_string()) {
        collect_long_texts(item, found);
        continue;
      }
      replace_what_is_not_utf8(item);
      const auto bytes = bytes_in_json(item.get_ref<const std::string&>());
      if (bytes > kLongText) found.push_back({&value, name, bytes});
    }
  } else if (value.is_array()) {
    for (auto& item : value) collect_long_texts(item, found);
  }
}

void mark_cut(Json& owner, const std::string& name, Json& part) {
  if (name == "patch") {
    owner["truncated"] = true;
    part["truncated"] = true;
  } else {
    owner[name + "_truncated"] = true;
  }
}

void shorten_texts(Json& part, std::size_t size, std::size_t max_bytes) {
  std::vector<LongText> texts;
  collect_long_texts(part, texts);
  std::vector<std::size_t> sizes;
  std::size_t in_texts = 0;
  std::size_t in_marks = kRoomForAMark;
  for (const auto& text : texts) {
    sizes.push_back(text.bytes);
    in_texts += text.bytes;
    in_marks += bytes_in_json(text.name) + kRoomForAMark;
  }
  const std::size_t rest = size - in_texts + in_marks;
  const std::size_t cap = even_cap(std::move(sizes), max_bytes > rest ? max_bytes - rest : 0);
  for (const auto& text : texts) {
    if (text.bytes <= cap) continue;
    auto& value = (*text.owner)[text.name].get_ref<std::string&>();
    value.resize(cut_text(value, std::max(cap, kLongText)).size());
    mark_cut(*text.owner, text.name, part);
  }
}

void keep_first(Json& list, std::size_t count) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(count), list.end());
}

// Every list at any depth; returns whether one was cut.
bool limit_lists(Json& value, std::size_t max_items) {
  if (!value.is_structured()) return false;
  bool cut = value.is_array() && value.size() > max_items;
  if (cut) keep_first(value, max_items);
  for (auto& item : value) cut = limit_lists(item, max_items) || cut;
  return cut;
}

// Of the lists that lie in no other list; nullptr when there is none, or only empty ones.
Json* longest_list(Json& value) {
  if (value.is_array()) return value.empty() ? nullptr : &value;
  Json* longest = nullptr;
  if (!value.is_object()) return longest;
  for (auto& item : value) {
    Json* list = longest_list(item);
    if (list != nullptr && (longest == nullptr || list->size() > longest->size())) longest = list;
  }
  return longest;
}

// Makes `part`, an object in `whole`, so small that the whole has at most `max_bytes`.
void shorten(Json& part, const Json& whole, std::size_t max_bytes) {
  const auto size = [&] { return policy::dump_json(whole).size(); };
  const auto before = size();
  if (before <= max_bytes) return;
  shorten_texts(part, before, max_bytes);
  while (size() > max_bytes) {
    Json* list = longest_list(part);
    if (list == nullptr) break;
    keep_first(*list, list->size() - (list->size() + 3) / 4);
    part["truncated"] = true;
  }
  if (size() > max_bytes) part = Json{{"truncated", true}};
}

void bound_answer(Json& body, const policy::Limits& limits) {
  Json& data = body["data"];
  if (limit_lists(data, limits.max_response_items)) data["truncated"] = true;
  if (policy::dump_json(body).size() <= limits.max_response_chars) return;
  // What was asked for is repeated in the answer and may be long, but must leave room for it.
  shorten(body["request"], body["request"], limits.max_response_chars / 4);
  shorten(data, body, limits.max_response_chars);
}

void bound_details(Json& details, const Json& body, const policy::Limits& limits) {
  for (auto& [name, item] : details.items()) {
    if (item.is_array() && item.size() > limits.max_response_items) {
      item.erase(item.begin() + static_cast<std::ptrdiff_t>(limits.max_response_items), item.end());
    }
  }
  while (policy::dump_json(body).size() > limits.max_response_chars) {
    auto longest = details.begin();
    for (auto it = details.begin(); it != details.end(); ++it) {
      if (policy::dump_json(*it).size() > policy::dump_json(*longest).size()) longest = it;
    }
    if (longest == details.end()) return;
    if (longest->is_array() && longest->size() > 1) {
      longest->erase(longest->begin() + static_cast<std::ptrdiff_t>(longest->size() / 2), longest->end());
    } else {
      details.erase(longest);
    }
  }
}

}  // namespace

std::size_t even_cap(std::vector<std::size_t> sizes, std::size_t budget) {
  std::ranges::sort(sizes);
  std::size_t left = budget;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t share = left / (sizes.size() - i);
    if (sizes[i] > share) return share;
    left -= sizes[i];
  }
  return budget;
}

std::string_view cut_text(std::string_view text, std::size_t max_bytes) {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size(); ++end) {
    used += bytes_in_json(text[end]);
    if (used > max_bytes) break;
  }
  if (end == text.size()) return text;
  const auto line = text.substr(0, end).rfind('\n');
  if (line != std::string_view::npos) return text.substr(0, line + 1);
  while (end > 0 && continues_character(text[end])) --end;
  return text.substr(0, end);
}

void bound(policy::Json& body, const policy::Limits& limits) {
  if (body.contains("data")) {
    bound_answer(body, limits);
  } else if (body.contains("error") && body["error"].contains("details")) {
    bound_details(body["error"]["details"], body, limits);
  }
}

}  // namespace repobridge::wire
