#include "mcp/oauth.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "tests/unit/mcp/signed_token.h"

namespace repobridge::mcp {
namespace {

using policy::OauthPolicy;
using tests::Json;
using tests::Signer;
using tests::token_of;

constexpr std::int64_t kNow = 1800000000;  // seconds since 1970

OauthPolicy policy_of_the_tests() {
  return {.issuer = "https://login.example/realm",
          .resource = "https://front.example/mcp",
          .jwks_file = "/nowhere",
          .allowed_subjects = {"me", "you"}};
}

const Signer& signer() {
  static const Signer kSigner("P-256");
  return kSigner;
}

Json good_claims() {
  return Json{{"iss", "https://login.example/realm"},
              {"aud", "https://front.example/mcp"},
              {"sub", "me"},
              {"exp", kNow + 300},
              {"scope", "openid repo:read"}};
}

// Claims with one of them changed; null takes it away.
Json with(const char* name, Json value) {
  auto claims = good_claims();
  if (value.is_null()) {
    claims.erase(name);
  } else {
    claims[name] = std::move(value);
  }
  return claims;
}

std::string header_with(const Json& claims) {
  return "Bearer " + token_of(signer(), "ES256", tests::header_of("ES256", "k").dump(), claims.dump());
}

using Decision = tl::expected<Access, Challenge>;

Decision decide(const std::string& header, const OauthPolicy& policy, Result<std::string> keys) {
  asio::io_context io(1);
  const auto set = KeySet::make(io.get_executor(), {.read = [keys](const std::stop_token&) { return keys; },
                                                    .report = [](const Error&) {}});
  const auto check = oauth_access(
      policy, set, [] { return std::chrono::system_clock::time_point(std::chrono::seconds(kNow)); });
  auto decision = asio::co_spawn(io, check(header), asio::use_future);
  io.run();
  return decision.get();
}

std::string keys_of_the_tests() { return Json{{"keys", {signer().jwk("k")}}}.dump(); }

Decision decide(const std::string& header, const OauthPolicy& policy = policy_of_the_tests()) {
  return decide(header, policy, keys_of_the_tests());
}

asio::awaitable<Decision> let_in(Access access) { co_return access; }
asio::awaitable<Decision> refuse(Challenge challenge) { co_return tl::unexpected(challenge); }

// What two checks together make of a header of which each knows one.
Decision decide_by_both(const std::string& header) {
  const auto knows = [](const std::string& known, const std::string& name) -> CheckAccess {
    return [known, name](const std::string& given) {
      if (given == known) return let_in(Access{.login = name});
      return refuse(Challenge{.message = name + " refuses"});
    };
  };
  asio::io_context io(1);
  const auto check = or_oauth(knows("1", "first"), knows("2", "second"));
  auto decision = asio::co_spawn(io, check(header), asio::use_future);
  io.run();
  return decision.get();
}

// "401 the token has expired", or who was let in.
std::string told(const Decision& decision) {
  if (!decision) return std::to_string(decision.error().status) + " " + decision.error().message;
  return decision->login + (decision->write ? " writes" : " looks");
}

std::string told_of(const Json& claims) { return told(decide(header_with(claims))); }

TEST(Oauth, LetsInWhomATokenProves) {
  const auto decision = decide(header_with(good_claims()));

  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_EQ(decision->login, "me");
  EXPECT_EQ(decision->mode, "oauth");
  EXPECT_FALSE(decision->write);
}

TEST(Oauth, MapsScopesInEverySpelling) {
  EXPECT_EQ(told_of(with("scope", "repo:read repo:write")), "me writes");
  EXPECT_EQ(told_of(with("scope", "repo:write  repo:read")), "me writes");
  EXPECT_EQ(told_of(with("scope", {"repo:read", "repo:write"})), "me writes");
  auto scp = with("scope", nullptr);
  scp["scp"] = {"repo:read", "repo:write"};
  EXPECT_EQ(told_of(scp), "me writes");
  scp["scp"] = "repo:read";
  EXPECT_EQ(told_of(scp), "me looks");
  const std::string lacks = "403 the token lacks the scope repo:read";
  EXPECT_EQ(told_of(with("scope", "repo:write")), lacks);
  EXPECT_EQ(told_of(with("scope", "repo:readonly repo:read:x xrepo:read REPO:READ")), lacks);
  EXPECT_EQ(told_of(with("scope", "repo:read,repo:write")), lacks);
  EXPECT_EQ(told_of(with("scope", "")), lacks);
  EXPECT_EQ(told_of(with("scope", nullptr)), lacks);
  EXPECT_EQ(told_of(with("scope", 1)), "401 the token's scopes are no text");
  EXPECT_EQ(told_of(with("scope", {"repo:read", 1})), "401 the token's scopes are no text");
}

TEST(Oauth, WantsItsIssuerExactly) {
  const std::string other = "401 the token is of another issuer";
  for (const Json& issuer :
       {Json("https://login.example/realm/"), Json("https://login.example"),
        Json("https://LOGIN.example/realm"), Json(), Json(1), Json::array({"https://login.example/realm"})}) {
    EXPECT_EQ(told_of(with("iss", issuer)), other) << issuer;
  }
}

TEST(Oauth, WantsItsResourceAmongTheAudience) {
  const std::string other = "401 the token is for another resource";
  EXPECT_EQ(told_of(with("aud", {"https://x.example", "https://front.example/mcp"})), "me looks");
  for (const Json& audience :
       {Json("https://front.example/mcp/"), Json("https://front.example"), Json(), Json(1), Json::array(),
        Json::array({1}), Json("https://front.example/mcp x"), Json{{"https://front.example/mcp", true}}}) {
    EXPECT_EQ(told_of(with("aud", audience)), other) << audience;
  }
}

TEST(Oauth, WantsATimeThatIsNow) {
  const auto leeway = policy_of_the_tests().leeway.count();
  EXPECT_EQ(told_of(with("exp", kNow - leeway + 1)), "me looks");
  EXPECT_EQ(told_of(with("exp", kNow - leeway)), "401 the token has expired");
  EXPECT_EQ(told_of(with("exp", static_cast<double>(kNow) + 0.5)), "me looks");
  EXPECT_EQ(told_of(with("exp", -1e300)), "401 the token has expired");
  EXPECT_EQ(told_of(with("exp", nullptr)), "401 the token has no end");
  EXPECT_EQ(told_of(with("exp", std::to_string(kNow + 300))), "401 the token has no end");
  for (const char* name : {"nbf", "iat"}) {
    EXPECT_EQ(told_of(with(name, kNow + leeway)), "me looks") << name;
    EXPECT_EQ(told_of(with(name, kNow + leeway + 1)), "401 the token is not valid yet") << name;
    EXPECT_EQ(told_of(with(name, "0")), "401 the token's times are no numbers") << name;
  }
}

TEST(Oauth, WantsASubjectThatIsAllowed) {
  EXPECT_EQ(told_of(with("sub", "you")), "you looks");
  for (const char* subject : {"them", "ME", "me ", "*"}) {
    EXPECT_EQ(told_of(with("sub", subject)), "403 the token's subject is not allowed here") << subject;
  }
  EXPECT_EQ(told_of(with("sub", "")), "401 the token has no subject");
  EXPECT_EQ(told_of(with("sub", nullptr)), "401 the token has no subject");
  EXPECT_EQ(told_of(with("sub", 7)), "401 the token has no subject");
  auto everybody = policy_of_the_tests();
  everybody.allowed_subjects = {"*"};
  EXPECT_EQ(told(decide(header_with(with("sub", "them")), everybody)), "them looks");
}

TEST(Oauth, NamesACallerByTheClaimThatIsConfigured) {
  auto policy = policy_of_the_tests();
  policy.login_claim = "email";
  const auto named = [&](Json email) {
    return told(decide(header_with(with("email", std::move(email))), policy));
  };
  const std::string refused = "403 the token does not name its caller as the administrator asks";

  EXPECT_EQ(named("me@front.example"), "me@front.example looks");
  EXPECT_EQ(named(nullptr), refused);
  EXPECT_EQ(named(""), refused);
  EXPECT_EQ(named(1), refused);
  EXPECT_EQ(named("a\nb"), refused);
  EXPECT_EQ(named("a\x7f"), refused);
  EXPECT_EQ(named(std::string(256, 'x')), std::string(256, 'x') + " looks");
  EXPECT_EQ(named(std::string(257, 'x')), refused);
}

TEST(Oauth, AllowsTheAlgorithmsThatAreConfigured) {
  auto policy = policy_of_the_tests();
  policy.algorithms = {"RS256"};

  EXPECT_EQ(told(decide(header_with(good_claims()), policy)), "401 the token's algorithm is not allowed");
}

TEST(Oauth, ReadsTheHeaderAsItsSchemeSays) {
  const auto token = header_with(good_claims()).substr(7);
  const std::string needed = "401 a bearer token is needed";

  EXPECT_EQ(told(decide("bearer " + token)), "me looks");
  EXPECT_EQ(told(decide("BEARER   " + token + " ")), "me looks");
  EXPECT_EQ(told(decide("")), needed);
  EXPECT_EQ(told(decide("Bearer")), needed);
  EXPECT_EQ(told(decide("Basic bWU6cGFzcw==")), needed);
  EXPECT_EQ(told(decide(token)), needed);
  EXPECT_EQ(told(decide("Bearer:" + token)), needed);
  EXPECT_EQ(told(decide("Bearer " + token + ", Bearer " + token)), "401 the token is no signed JWT");
  EXPECT_EQ(told(decide("Bearer opaque")), "401 the token is no signed JWT");
}

TEST(Oauth, TakesAKeyByItsNameAndNeedsNoneWhereThereIsOne) {
  const auto nameless =
      "Bearer " + token_of(signer(), "ES256", R"({"alg":"ES256","typ":"JWT"})", good_claims().dump());
  const auto two = Json{{"keys", {signer().jwk("k"), Signer("P-256").jwk("other")}}}.dump();
  const auto policy = policy_of_the_tests();

  EXPECT_EQ(told(decide(nameless)), "me looks");
  EXPECT_EQ(told(decide(nameless, policy, two)), "401 the token names no key");
  EXPECT_EQ(told(decide(header_with(good_claims()), policy, two)), "me looks");
  const auto stranger = Json{{"keys", {Signer("P-256").jwk("k")}}}.dump();
  EXPECT_EQ(told(decide(header_with(good_claims()), policy, stranger)),
            "401 the token's signature does not verify");
  const auto renamed = Json{{"keys", {signer().jwk("other")}}}.dump();
  EXPECT_EQ(told(decide(header_with(good_claims()), policy, renamed)), "401 the token's key is not known");
}

TEST(Oauth, LetsNobodyInWhileItKnowsNoKeys) {
  const Result<std::string> gone = os_failure("read the keys", 0);

  const auto decision = decide(header_with(good_claims()), policy_of_the_tests(), gone);

  EXPECT_EQ(told(decision), "503 the authorization server's keys cannot be had now; try again later");
  EXPECT_EQ(decision.error().www_authenticate, "");
  EXPECT_EQ(decision.error().error, "temporarily_unavailable");
}

TEST(Oauth, TellsAClientHowToBegin) {
  const std::string rest =
      R"(resource_metadata="https://front.example/.well-known/oauth-protected-resource/mcp", )"
      R"(scope="repo:read repo:write")";

  const auto nothing = decide("").error();
  EXPECT_EQ(nothing.status, 401);
  EXPECT_EQ(nothing.error, "invalid_token");
  EXPECT_EQ(nothing.www_authenticate, "Bearer " + rest);
  const auto expired = decide(header_with(with("exp", 1))).error();
  EXPECT_EQ(expired.error, "invalid_token");
  EXPECT_EQ(expired.www_authenticate,
            R"(Bearer error="invalid_token", error_description="the token has expired", )" + rest);
}

TEST(Oauth, TellsAClientWhichScopeItLacks) {
  const auto start = [](const std::string& description) {
    return R"(Bearer error="insufficient_scope", error_description=")" + description +
           R"(", resource_metadata="https://front.example/.well-known/oauth-protected-resource/mcp", scope=)";
  };

  const auto looks = decide(header_with(with("scope", "x"))).error();
  EXPECT_EQ(looks.status, 403);
  EXPECT_EQ(looks.error, "insufficient_scope");
  EXPECT_EQ(looks.www_authenticate, start("the token lacks the scope repo:read") + R"("repo:read")");
  const auto writes = write_scope_missing(policy_of_the_tests());
  EXPECT_EQ(writes.status, 403);
  EXPECT_EQ(writes.www_authenticate,
            start("the token lacks the scope repo:write") + R"("repo:read repo:write")");
}

TEST(Oauth, StandsBesideAnotherWayIn) {
  EXPECT_EQ(told(decide_by_both("1")), "first looks");
  EXPECT_EQ(told(decide_by_both("2")), "second looks");
  EXPECT_EQ(told(decide_by_both("3")), "401 second refuses");
}

// Another login would not help: the client is not sent to fetch a token again and again.
TEST(Oauth, InvitesNobodyWhoMayNotCall) {
  const auto refused = decide(header_with(with("sub", "them"))).error();

  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.error, "access_denied");
  EXPECT_EQ(refused.www_authenticate, "");
}

TEST(Oauth, RepeatsNothingOfAToken) {
  const std::string mark = "mark-of-the-caller";
  for (const char* name : {"iss", "aud", "sub", "exp", "nbf", "scope"}) {
    const auto refused = decide(header_with(with(name, mark))).error();
    EXPECT_EQ((refused.www_authenticate + refused.message + refused.error).find(mark), std::string::npos)
        << name;
  }
}

TEST(Metadata, StandsAtBothPlacesThatClientsAsk) {
  const auto documents = protected_resource_metadata(policy_of_the_tests());

  ASSERT_EQ(documents.size(), 2U);
  const auto& document = documents.at("/.well-known/oauth-protected-resource");
  EXPECT_EQ(documents.at("/.well-known/oauth-protected-resource/mcp"), document);
  EXPECT_EQ(Json::parse(document), Json::parse(R"({
      "resource": "https://front.example/mcp", "resource_name": "Repobridge",
      "authorization_servers": ["https://login.example/realm"],
      "scopes_supported": ["repo:read", "repo:write"], "bearer_methods_supported": ["header"]})"));
}

TEST(Metadata, HasOnePlaceForAResourceAtTheTop) {
  auto policy = policy_of_the_tests();
  for (const char* top : {"https://front.example", "https://front.example/"}) {
    policy.resource = top;
    const auto documents = protected_resource_metadata(policy);
    ASSERT_EQ(documents.size(), 1U);
    EXPECT_EQ(documents.begin()->first, "/.well-known/oauth-protected-resource");
    EXPECT_EQ(Json::parse(documents.begin()->second)["resource"], top);
    EXPECT_NE(decide("", policy)
                  .error()
                  .www_authenticate.find("\"https://front.example/.well-known/oauth-protected-resource\""),
              std::string::npos);
  }
}

}  // namespace
}  // namespace repobridge::mcp
