// HTTP's messages as values, and what stands in their headers.
//
// Promise: pure; no header is believed to be well-formed, and what cannot be read is as if it said nothing.
// Names of headers are compared without case, values as they are. Source: RFC 9110; MCP "Streamable HTTP".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace repobridge::mcp {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpHead {
  std::string method;
  std::string target;
  HttpFields fields;

  // Without the blanks around it; several of one name joined by ", ", as if they were one.
  [[nodiscard]] std::optional<std::string> field(std::string_view name) const;
  // The target up to a '?'.
  [[nodiscard]] std::string_view path() const;
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  HttpFields fields;
};

// Whether the connection ends with the answer.
enum class Afterwards : bool { keep, close };

// The bytes of an answer. To HEAD the body is not sent.
std::string to_bytes(const HttpReply& reply, Afterwards afterwards, bool with_body = true);
// The head of an answer whose body is a stream of events, in chunks.
std::string event_stream_head(const HttpFields& fields);
// One event of it, one comment, and its end.
std::string event_chunk(std::string_view data);
std::string comment_chunk(std::string_view text);
std::string last_chunk();

// "application/json; charset=utf-8" without its parameters, in small letters.
std::string media_type(std::string_view value);

// Which forms of answer a client takes. Events only when it names them: who says "anything" gets JSON.
struct Accepts {
  bool json = false;
  bool events = false;
};
Accepts accepts_of(const std::optional<std::string>& accept);

// What a header of MCP says: text as it is, or `=?base64?…?=`. nullopt: it claims base64 and is none.
std::optional<std::string> decoded_field(std::string_view value);

// The name or address in a Host header, in small letters and without the port.
std::optional<std::string> host_name_in(std::string_view host);

}  // namespace repobridge::mcp
