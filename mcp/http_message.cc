#include "mcp/http_message.h"

#include <algorithm>
#include <array>

#include "policy/http_policy.h"
#include "policy/text.h"

namespace repobridge::mcp {
namespace {

using policy::lower_ascii;

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Other";
  }
}

void add_field(std::string& bytes, std::string_view name, std::string_view value) {
  bytes.append(name).append(": ").append(value).append("\r\n");
}

std::string chunk(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string size;
  for (std::size_t left = bytes.size(); left > 0; left /= kDigits.size()) {
    size.insert(size.begin(), kDigits[left % kDigits.size()]);
  }
  return size.append("\r\n").append(bytes).append("\r\n");
}

// One element of an Accept header: its type, and whether a weight of nothing takes it back.
struct Range {
  std::string type;
  bool wanted = true;
};

Range range_of(std::string_view element) {
  Range range{.type = media_type(element)};
  for (const auto& parameter : policy::split(element, ';')) {
    const auto text = lower_ascii(without_blanks(parameter));
    if (!text.starts_with("q=")) continue;
    range.wanted = text.find_first_not_of("0.", 2) != std::string::npos;
  }
  return range;
}

std::optional<unsigned> base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a') + 26;
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0') + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return std::nullopt;
}

// Whole groups with their padding; the bits that padding leaves over are zero.
std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const auto padding = text.size() - std::min(text.size(), text.find_last_not_of('=') + 1);
  if (padding > 2) return std::nullopt;
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const auto value = base64_value(c);
    if (!value) return std::nullopt;
    bits = ((bits << 6U) | *value) & 0xFFFFU;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(held)) & 0xFFU));
  }
  if ((bits & ((1U << static_cast<unsigned>(held)) - 1U)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::optional<std::string> HttpHead::field(std::string_view name) const {
  std::optional<std::string> joined;
  const auto wanted = lower_ascii(name);
  for (const auto& [key, value] : fields) {
    if (lower_ascii(key) != wanted) continue;
    if (joined) {
      joined->append(", ").append(without_blanks(value));
    } else {
      joined = std::string(without_blanks(value));
    }
  }
  return joined;
}

std::string_view HttpHead::path() const {
  return std::string_view(target).substr(0, std::string_view(target).find('?'));
}

std::string to_bytes(const HttpReply& reply, Afterwards afterwards, bool with_body) {
  std::string bytes = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  bytes.append(reason(reply.status)).append("\r\n");
  if (!reply.body.empty()) add_field(bytes, "Content-Type", reply.content_type);
  constexpr int kNoContent = 204;  // which may not even say that it has none
  if (reply.status != kNoContent) add_field(bytes, "Content-Length", std::to_string(reply.body.size()));
  add_field(bytes, "Cache-Control", "no-store");
  add_field(bytes, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : reply.fields) add_field(bytes, name, value);
  add_field(bytes, "Connection", afterwards == Afterwards::keep ? "keep-alive" : "close");
  bytes.append("\r\n");
  if (with_body) bytes.append(reply.body);
  return bytes;
}

std::string event_stream_head(const HttpFields& fields) {
  std::string bytes = "HTTP/1.1 200 OK\r\n";
  add_field(bytes, "Content-Type", "text/event-stream");
  add_field(bytes, "Cache-Control", "no-cache, no-transform");
  add_field(bytes, "X-Accel-Buffering", "no");
  add_field(bytes, "X-Content-Type-Options", "nosniff");
  add_field(bytes, "Transfer-Encoding", "chunked");
  for (const auto& [name, value] : fields) add_field(bytes, name, value);
  add_field(bytes, "Connection", "keep-alive");
  return bytes.append("\r\n");
}

// No id and no retry: some clients would begin anew after an answer that is an error.
std::string event_chunk(std::string_view data) {
  return chunk(std::string("event: message\ndata: ").append(data).append("\n\n"));
}

std::string comment_chunk(std::string_view text) {
  return chunk(std::string(": ").append(text).append("\n\n"));
}

std::string last_chunk() { return "0\r\n\r\n"; }

std::string media_type(std::string_view value) {
  return lower_ascii(without_blanks(value.substr(0, value.find(';'))));
}

Accepts accepts_of(const std::optional<std::string>& accept) {
  if (!accept || accept->empty()) return {.json = true};
  Accepts accepts;
  for (const auto& element : policy::split(*accept, ',')) {
    const Range range = range_of(element);
    if (!range.wanted) continue;
    accepts.json |= range.type == "application/json" || range.type == "application/*" || range.type == "*/*";
    accepts.events |= range.type == "text/event-stream";
  }
  return accepts;
}

std::optional<std::string> decoded_field(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?";
  constexpr std::string_view kEnd = "?=";
  const bool encoded =
      value.size() >= kBegin.size() + kEnd.size() && value.starts_with(kBegin) && value.ends_with(kEnd);
  if (!encoded) return std::string(value);
  value.remove_prefix(kBegin.size());
  value.remove_suffix(kEnd.size());
  return base64_decoded(value);
}

std::optional<std::string> host_name_in(std::string_view host) {
  // An address of IPv6 stands in brackets and has colons of its own.
  const auto bracket = host.rfind(']');
  const auto colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const auto name = lower_ascii(host.substr(0, colon));
  if (!policy::is_host_name(name)) return std::nullopt;
  if (colon == std::string_view::npos) return name;
  const auto port = host.substr(colon + 1);
  const bool digits = std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::optional(name) : std::nullopt;
}

}  // namespace repobridge::mcp
