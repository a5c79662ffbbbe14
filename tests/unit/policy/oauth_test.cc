#include "policy/oauth.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::code_of;
using tests::value_of;

OauthPolicy sample() {
  return {.issuer = "https://login.example/realm",
          .resource = "https://front.example/mcp",
          .jwks_url = "https://login.example/keys?p=1",
          .jwks_ca_file = "/etc/ca.pem",
          .algorithms = {"ES384"},
          .allowed_subjects = {"someone", "someone else"},
          .login_claim = "email",
          .leeway = std::chrono::seconds(7)};
}

std::string faulty(const std::function<void(OauthPolicy&)>& change) {
  auto policy = sample();
  change(policy);
  const auto fault = fault_of(policy);
  return fault ? fault->field : "";
}

TEST(OauthPolicy, IsReadBackAsItWasWritten) {
  const auto again = value_of(oauth_from_json(to_json(sample())));

  EXPECT_EQ(to_json(again), to_json(sample()));
  EXPECT_EQ(again.leeway, std::chrono::seconds(7));
  EXPECT_EQ(again.allowed_subjects.size(), 2U);
}

TEST(OauthPolicy, IsReadWithoutAnythingUnknownMissingOrFaulty) {
  auto more = to_json(sample());
  more["secret"] = "x";
  EXPECT_EQ(code_of(oauth_from_json(more)), "CONFIG_INVALID");
  const auto whole = to_json(sample());
  for (const auto& [name, value] : whole.items()) {
    auto less = whole;
    less.erase(name);
    EXPECT_EQ(code_of(oauth_from_json(less)), "CONFIG_INVALID") << name;
  }
  auto hmac = to_json(sample());
  hmac["algorithms"] = {"HS256"};
  EXPECT_EQ(tests::argument_of(oauth_from_json(hmac)), "oauth.algorithms");
}

TEST(OauthPolicy, HasAFaultWhereItIsHalf) {
  EXPECT_EQ(faulty([](auto&) {}), "");
  EXPECT_EQ(faulty([](auto& p) { p.issuer.clear(); }), "issuer");
  EXPECT_EQ(faulty([](auto& p) { p.resource.clear(); }), "resource");
  EXPECT_EQ(faulty([](auto& p) { p.jwks_url.clear(); }), "jwks_url");
  EXPECT_EQ(faulty([](auto& p) { p.jwks_file = "/keys"; }), "jwks_file");
  EXPECT_EQ(faulty([](auto& p) { p.allowed_subjects.clear(); }), "allowed_subjects");
  EXPECT_EQ(faulty([](auto& p) { p.algorithms.clear(); }), "algorithms");
}

TEST(OauthPolicy, HasAFaultWhereItWouldBeUnsafe) {
  EXPECT_EQ(faulty([](auto& p) { p.jwks_url = "http://login.example/keys"; }), "jwks_url");
  EXPECT_EQ(faulty([](auto& p) { p.jwks_url = "file:///etc/keys"; }), "jwks_url");
  EXPECT_EQ(faulty([](auto& p) {
              p.jwks_url.clear();
              p.jwks_file = "keys";
              p.jwks_ca_file.clear();
            }),
            "jwks_file");
  EXPECT_EQ(faulty([](auto& p) {
              p.jwks_url.clear();
              p.jwks_file = "/keys";
            }),
            "jwks_ca_file");
  EXPECT_EQ(faulty([](auto& p) { p.jwks_ca_file = "ca.pem"; }), "jwks_ca_file");
  EXPECT_EQ(faulty([](auto& p) { p.issuer = "https://login.example/?a=b"; }), "issuer");
  EXPECT_EQ(faulty([](auto& p) { p.resource = "https://front.example/mcp#x"; }), "resource");
  EXPECT_EQ(faulty([](auto& p) { p.resource = "https://front.example/\"mcp"; }), "resource");
  EXPECT_EQ(faulty([](auto& p) { p.allowed_subjects = {"*", "someone"}; }), "allowed_subjects");
  EXPECT_EQ(faulty([](auto& p) { p.allowed_subjects = {"some\none"}; }), "allowed_subjects");
  EXPECT_EQ(faulty([](auto& p) { p.allowed_subjects.assign(1001, "x"); }), "allowed_subjects");
  EXPECT_EQ(faulty([](auto& p) { p.allowed_subjects = {"*"}; }), "");
  EXPECT_EQ(faulty([](auto& p) { p.login_claim.clear(); }), "login_claim");
  EXPECT_EQ(faulty([](auto& p) { p.leeway = std::chrono::seconds(301); }), "leeway_seconds");
  for (const char* name : {"none", "HS256", "HS512", "rs256", "EdDSA", ""}) {
    EXPECT_EQ(faulty([name](auto& p) { p.algorithms = {"RS256", name}; }), "algorithms") << name;
  }
}

TEST(WebUrl, IsCutWhereItsPartsMeet) {
  const auto url = parse_web_url("https://a.example:8443/x/y?q=1");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->secure);
  EXPECT_EQ(url->origin, "https://a.example:8443");
  EXPECT_EQ(url->path, "/x/y");
  EXPECT_EQ(url->query, "?q=1");
  EXPECT_EQ(parse_web_url("https://a.example")->path, "");
  EXPECT_EQ(parse_web_url("https://a.example?q")->query, "?q");
}

TEST(WebUrl, IsPlainToThisMachineAlone) {
  for (const char* url :
       {"http://127.0.0.1", "http://127.0.0.1:80/x", "http://localhost:1", "http://[::1]:9/"}) {
    ASSERT_TRUE(parse_web_url(url)) << url;
    EXPECT_FALSE(parse_web_url(url)->secure) << url;
  }
  for (const char* url : {"http://127.0.0.1.example", "http://localhost.example", "http://127.0.0.10",
                          "http://10.0.0.1", "http://[::2]", "http://localhost@a.example/"}) {
    EXPECT_FALSE(parse_web_url(url)) << url;
  }
}

TEST(WebUrl, HasNoOtherForm) {
  for (const char* url :
       {"", "https://", "https:///x", "ftp://a.example", "HTTPS://a.example", "https://u@a.example",
        "https://u:p@a.example", "https://a.example:", "https://a.example:x", "https://a.example:123456",
        "https://a b.example", "https://a.example/ ", "https://a.example/\n", "https://a.example/\\",
        "https://a.example/#f", "https://[::1", "https://[]/", "https://a.example\\@b.example"}) {
    EXPECT_FALSE(parse_web_url(url)) << url;
  }
  EXPECT_FALSE(parse_web_url("https://a.example/" + std::string(2000, 'x')));
}

}  // namespace
}  // namespace repobridge::policy
