#include "policy/http_policy.h"

#include <gtest/gtest.h>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::argument_of;
using tests::code_of;
using tests::value_of;

// With a value in every place, so that whatever reading or writing forgets is missed.
HttpPolicy full() {
  return HttpPolicy{
      .allowed_hosts = {"mcp.example.org", "[::2]"},
      .allowed_origins = {"https://app.example.org"},
      .allow_non_loopback = true,
      .allow_unauthenticated = true,
      .tokens = {{.name = "a", .file = "/etc/a"}, {.name = "b", .file = "/etc/b", .read_only = true}},
      .tls = TlsFiles{.certificate = "/etc/c", .key = "/etc/k"},
      .limits = {.connections = 2,
                 .calls_at_once_per_caller = 3,
                 .read = std::chrono::seconds(4),
                 .write = std::chrono::seconds(5),
                 .idle = std::chrono::seconds(6),
                 .keepalive = std::chrono::seconds(7)}};
}

TEST(HttpPolicy, IsReadBackAsItWasWritten) {
  const Json written = to_json(full());

  EXPECT_EQ(to_json(value_of(http_policy_from_json(written, "http"))), written);
  EXPECT_EQ(written["tokens"][1], (Json{{"name", "b"}, {"file", "/etc/b"}, {"read_only", true}}));
  EXPECT_EQ(written["limits"]["keepalive_seconds"], 7);
}

TEST(HttpPolicy, ServesNobodyUnlessTold) {
  const HttpPolicy policy;

  EXPECT_TRUE(policy.tokens.empty());
  EXPECT_FALSE(policy.allow_non_loopback);
  EXPECT_FALSE(policy.allow_unauthenticated);
  EXPECT_EQ(to_json(value_of(http_policy_from_json(to_json(policy), "http"))), to_json(policy));
}

TEST(HttpPolicy, IsReadStrictly) {
  const auto refused = [](const std::string& pointer, const Json& value) {
    Json document = to_json(full());
    document[Json::json_pointer(pointer)] = value;
    const auto read = http_policy_from_json(document, "http");
    EXPECT_EQ(code_of(read), "CONFIG_INVALID") << pointer;
    return argument_of(read);
  };
  EXPECT_EQ(refused("/more", 1), "http.more");
  EXPECT_EQ(refused("/allowed_hosts", Json::array({"HOST"})), "http.allowed_hosts");
  EXPECT_EQ(refused("/allowed_origins", Json::array({"example.org"})), "http.allowed_origins");
  EXPECT_EQ(refused("/tokens", Json::object()), "http.tokens");
  EXPECT_EQ(refused("/tokens/0/name", "a b"), "http.tokens[0].name");
  EXPECT_EQ(refused("/tokens/1/more", 1), "http.tokens[1].more");
  EXPECT_EQ(refused("/tls/more", 1), "http.tls.more");
  EXPECT_EQ(refused("/limits/connections", 0), "http.limits.connections");
  EXPECT_EQ(refused("/limits/read_seconds", 601), "http.limits.read_seconds");
  EXPECT_EQ(refused("/limits/more", 1), "http.limits.more");
}

TEST(HttpPolicy, KnowsTheNameOfAToken) {
  for (const char* name : {"a", "a.b-c_9"}) EXPECT_TRUE(is_token_name(name)) << name;
  EXPECT_TRUE(is_token_name(std::string(64, 'a')));
  EXPECT_FALSE(is_token_name(std::string(65, 'a')));
  for (const char* name : {"", "a b", "a=b", "a/b", "\u00e4"}) EXPECT_FALSE(is_token_name(name)) << name;
}

TEST(HttpPolicy, KnowsTheNameOfAHost) {
  for (const char* name : {"localhost", "mcp.example.org", "127.0.0.1", "[::1]", "a-b"}) {
    EXPECT_TRUE(is_host_name(name)) << name;
  }
  for (const char* name : {"", "[]", "a:1", "::1", "Host", "a b", "a/b", "a@b", "[a", "*.a"}) {
    EXPECT_FALSE(is_host_name(name)) << name;
  }
}

TEST(HttpPolicy, KnowsAnOrigin) {
  for (const char* text : {"https://a.example", "http://localhost:80", "http://[::1]", "http://[::1]:80",
                           "vscode-webview://abc"}) {
    EXPECT_TRUE(is_origin(text)) << text;
  }
  for (const char* text : {"", "null", "a.example", "://a", "https://", "https://a/",
                           "https://a:", "https://a:x", "https://u@a", "HTTPS://a", "https://[::1]x"}) {
    EXPECT_FALSE(is_origin(text)) << text;
  }
}

}  // namespace
}  // namespace repobridge::policy
