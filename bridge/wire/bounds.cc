#include "bridge/wire/bounds.h"

#include <algorithm>
#include <vector>

namespace repobridge::wire {
namespace {

using policy::Json;

// Texts below this are left alone: names, codes, subjects.
constexpr std::size_t kLongText = 512;
// What the marks of cut texts and lists may add.
constexpr std::size_t kRoomForMarks = 256;

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

void collect_long_texts(Json& value, std::vector<LongText>& found) {
  if (value.is_object()) {
    for (auto& [name, item] : value.items()) {
      if (!item.is_string()) {
        collect_long_texts(item, found);
        continue;
      }
      const auto bytes = bytes_in_json(item.get_ref<const std::string&>());
      if (bytes > kLongText) found.push_back({&value, name, bytes});
    }
  } else if (value.is_array()) {
    for (auto& item : value) collect_long_texts(item, found);
  }
}

// The largest cap under which the texts together take no more than `budget`.
std::size_t even_cap(const std::vector<LongText>& texts, std::size_t budget) {
  std::vector<std::size_t> sizes;
  for (const auto& text : texts) sizes.push_back(text.bytes);
  std::ranges::sort(sizes);
  std::size_t left = budget;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t share = left / (sizes.size() - i);
    if (sizes[i] > share) return share;
    left -= sizes[i];
  }
  return budget;
}

void mark_cut(Json& owner, const std::string& name, Json& data) {
  if (name == "patch") {
    owner["truncated"] = true;
    data["truncated"] = true;
  } else {
    owner[name + "_truncated"] = true;
  }
}

void shorten_texts(Json& data, std::size_t size, std::size_t max_bytes) {
  std::vector<LongText> texts;
  collect_long_texts(data, texts);
  std::size_t in_texts = 0;
  for (const auto& text : texts) in_texts += text.bytes;
  const std::size_t rest = size - in_texts + kRoomForMarks;
  const std::size_t cap = even_cap(texts, max_bytes > rest ? max_bytes - rest : 0);
  for (const auto& text : texts) {
    if (text.bytes <= cap) continue;
    auto& value = (*text.owner)[text.name].get_ref<std::string&>();
    value.resize(cut_text(value, std::max(cap, kLongText)).size());
    mark_cut(*text.owner, text.name, data);
  }
}

void limit_list(Json& list, std::size_t max_items, Json& data) {
  if (list.size() <= max_items) return;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(max_items), list.end());
  data["truncated"] = true;
}

void shorten_lists(Json& data, std::size_t max_bytes, const Json& body) {
  while (policy::dump_json(body).size() > max_bytes) {
    Json* longest = nullptr;
    for (auto& [name, item] : data.items()) {
      if (item.is_array() && (longest == nullptr || item.size() > longest->size())) longest = &item;
    }
    if (longest == nullptr || longest->empty()) return;
    limit_list(*longest, longest->size() - (longest->size() + 3) / 4, data);
  }
}

void bound_data(Json& data, const Json& body, const policy::Limits& limits) {
  for (auto& [name, item] : data.items()) {
    if (item.is_array()) limit_list(item, limits.max_response_items, data);
  }
  const std::size_t size = policy::dump_json(body).size();
  if (size <= limits.max_response_chars) return;
  shorten_texts(data, size, limits.max_response_chars);
  shorten_lists(data, limits.max_response_chars, body);
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
    bound_data(body["data"], body, limits);
  } else if (body.contains("error") && body["error"].contains("details")) {
    bound_details(body["error"]["details"], body, limits);
  }
}

}  // namespace repobridge::wire
