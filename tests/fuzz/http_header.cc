// What stands in the headers of a request: each reader takes any bytes, and what it reads out is what was put
// in.
#include "mcp/http_message.h"
#include "policy/http_policy.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {

void one_input(std::string_view bytes) {
  const auto host = mcp::host_name_in(bytes);
  must(!host || policy::is_host_name(*host), "a host that is read is a host");
  must(!host || mcp::host_name_in(*host) == host, "a host's name is its own name");
  must(!policy::is_origin(bytes) || mcp::host_name_in(bytes.substr(bytes.find("://") + 3)),
       "an origin has a host");

  const auto decoded = mcp::decoded_field(bytes);
  const bool claims = bytes.starts_with("=?base64?") && bytes.ends_with("?=") && bytes.size() >= 11;
  must(claims || decoded == bytes, "what is not encoded stays what it is");
  must(!claims || !decoded || decoded->size() <= bytes.size(), "decoding makes nothing longer");

  const auto accepts = mcp::accepts_of(std::string(bytes));
  const auto twice = mcp::accepts_of(std::string(bytes) + "," + std::string(bytes));
  must(bytes.empty() || (accepts.json == twice.json && accepts.events == twice.events),
       "saying it twice says no more");
  must(mcp::media_type(mcp::media_type(bytes)) == mcp::media_type(bytes), "a media type is its own");
}

}  // namespace repobridge::fuzz
