#include "mcp/http_message.h"

#include <gtest/gtest.h>

namespace repobridge::mcp {
namespace {

TEST(HttpHead, FindsFieldsWithoutCaseAndJoinsThem) {
  const HttpHead head{.target = "/mcp?x=/y", .fields = {{"Accept", " a "}, {"X", ""}, {"aCCEPT", "b\t"}}};

  EXPECT_EQ(head.field("accept"), "a, b");
  EXPECT_EQ(head.field("x"), "");
  EXPECT_EQ(head.field("y"), std::nullopt);
  EXPECT_EQ(head.path(), "/mcp");
}

TEST(HttpMessage, IsWrittenWhole) {
  const HttpReply reply{.status = 405, .body = "{}", .fields = {{"Allow", "POST"}}};

  EXPECT_EQ(to_bytes(reply, Afterwards::close),
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nAllow: POST\r\n"
            "Connection: close\r\n\r\n{}");
  const auto bare = to_bytes(reply, Afterwards::keep, false);
  EXPECT_TRUE(bare.ends_with("Connection: keep-alive\r\n\r\n"));
  EXPECT_NE(bare.find("Content-Length: 2\r\n"), std::string::npos);
}

TEST(HttpMessage, CountsChunksInHexadecimal) {
  const std::string data(300, 'x');

  EXPECT_EQ(event_chunk("{}"), "19\r\nevent: message\ndata: {}\n\n\r\n");
  EXPECT_TRUE(event_chunk(data).starts_with("143\r\n"));
  EXPECT_EQ(comment_chunk("k"), "5\r\n: k\n\n\r\n");
}

TEST(HttpMessage, KnowsWhatAClientAccepts) {
  const auto accepts = [](const char* value) {
    const Accepts read = accepts_of(value == nullptr ? std::nullopt : std::optional<std::string>(value));
    return std::string(read.json ? "json " : "") + (read.events ? "events" : "");
  };
  EXPECT_EQ(accepts(nullptr), "json ");
  EXPECT_EQ(accepts(""), "json ");
  EXPECT_EQ(accepts("*/*"), "json ");
  EXPECT_EQ(accepts("application/*;q=0.1"), "json ");
  EXPECT_EQ(accepts("application/json, text/event-stream"), "json events");
  EXPECT_EQ(accepts("Text/Event-Stream;q=0.5"), "events");
  EXPECT_EQ(accepts("text/event-stream;q=0.000, application/json ; q=1"), "json ");
  EXPECT_EQ(accepts("text/html, application/jsonp"), "");
  EXPECT_EQ(accepts(",,"), "");
}

TEST(HttpMessage, DecodesAFieldThatClaimsBase64) {
  EXPECT_EQ(decoded_field("plain"), "plain");
  EXPECT_EQ(decoded_field("=?base64?"
                          "?="),
            "");
  EXPECT_EQ(decoded_field("=?base64?YQ==?="), "a");
  EXPECT_EQ(decoded_field("=?base64?YWI=?="), "ab");
  EXPECT_EQ(decoded_field("=?base64?YWJj?="), "abc");
  EXPECT_EQ(decoded_field("=?base64?4pyT?="), "\u2713");
  EXPECT_EQ(decoded_field("=?BASE64?YWJj?="), "=?BASE64?YWJj?=");
  for (const char* broken : {"=?base64?YQ=?=", "=?base64?YQ?=", "=?base64?Y===?=", "=?base64?====?=",
                             "=?base64?YR==?=", "=?base64?Y!==?=", "=?base64?YQ==YQ==?="}) {
    EXPECT_EQ(decoded_field(broken), std::nullopt) << broken;
  }
}

TEST(HttpMessage, ReadsTheNameOutOfAHost) {
  EXPECT_EQ(host_name_in("LocalHost:80"), "localhost");
  EXPECT_EQ(host_name_in("a.example"), "a.example");
  EXPECT_EQ(host_name_in("[::1]:80"), "[::1]");
  EXPECT_EQ(host_name_in("a:"), "a");
  for (const char* broken : {"", ":80", "a:b", "a:1:2", "::1", "a, b", "u@a", "[::1", "[::1]x"}) {
    EXPECT_EQ(host_name_in(broken), std::nullopt) << broken;
  }
}

}  // namespace
}  // namespace repobridge::mcp
