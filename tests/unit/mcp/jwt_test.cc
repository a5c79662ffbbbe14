#include "mcp/jwt.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/mcp/signed_token.h"

namespace repobridge::mcp {
namespace {

using tests::base64url;
using tests::header_of;
using tests::Json;
using tests::Signer;
using tests::token_of;

const Signer& signer(const std::string& kind) {
  static std::map<std::string, Signer> made;
  return made.try_emplace(kind, kind).first->second;
}

std::string kind_for(const std::string& algorithm) {
  if (!algorithm.starts_with("ES")) return "RSA";
  if (algorithm == "ES256") return "P-256";
  return algorithm == "ES384" ? "P-384" : "P-521";
}

VerifyKey key_of(const Json& jwk) {
  auto key = VerifyKey::read(jwk);
  if (!key) throw std::runtime_error(std::string(key.error().what));
  return *std::move(key);
}

std::string refusal_of(const Json& jwk) {
  const auto key = VerifyKey::read(jwk);
  return key ? "" : std::string(key.error().what);
}

// What is wrong with a token, or "" when its claims were proven.
std::string judged(const std::string& token, const VerifyKey& key) {
  const auto jwt = Jwt::read(token);
  if (!jwt) return std::string(jwt.error().what);
  const auto claims = jwt->proven_by(key);
  return claims ? "" : std::string(claims.error().what);
}

std::string rs256(const std::string& header, const std::string& claims = "{}") {
  return token_of(signer("RSA"), "RS256", header, claims);
}

const VerifyKey& rsa_key() {
  static const VerifyKey kKey = key_of(signer("RSA").jwk("k"));
  return kKey;
}

constexpr const char* kNotSigned = "the token's signature does not verify";
constexpr const char* kOtherAlgorithm = "the token's key is for another algorithm";

TEST(Jwt, IsProvenByItsSignersKeyInEveryAlgorithm) {
  for (const std::string algorithm :
       {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}) {
    const auto& pair = signer(kind_for(algorithm));
    const auto token = token_of(pair, algorithm, header_of(algorithm, "k").dump(), R"({"sub":"me"})");
    const auto jwt = Jwt::read(token);
    ASSERT_TRUE(jwt) << algorithm << ": " << jwt.error().what;
    EXPECT_EQ(jwt->algorithm(), algorithm);
    EXPECT_EQ(jwt->kid(), "k");

    const auto claims = jwt->proven_by(key_of(pair.jwk("k")));

    ASSERT_TRUE(claims) << algorithm << ": " << claims.error().what;
    EXPECT_EQ(claims->object()["sub"], "me");
    EXPECT_EQ(judged(token, key_of(Signer(kind_for(algorithm)).jwk("k"))), kNotSigned) << algorithm;
  }
}

TEST(Jwt, IsNotProvenWhenAByteOfItWasChanged) {
  const auto token = rs256(header_of("RS256", "k").dump(), R"({"sub":"me"})");
  const auto first = token.find('.');
  const auto second = token.find('.', first + 1);
  auto claims = token;
  claims.replace(first + 1, second - first - 1, base64url(R"({"sub":"us"})"));
  auto header = token;
  header.replace(0, first, base64url(R"({"alg":"RS256","typ":"JWT","kid":"k"})"));
  auto signature = token;
  signature[second + 1] = signature[second + 1] == 'A' ? 'B' : 'A';

  EXPECT_EQ(judged(token, rsa_key()), "");
  EXPECT_EQ(judged(claims, rsa_key()), kNotSigned);
  EXPECT_EQ(judged(header, rsa_key()), kNotSigned);
  EXPECT_EQ(judged(signature, rsa_key()), kNotSigned);
}

TEST(Jwt, TellsItsAlgorithmAndIsHeldToIt) {
  const auto token = [](const char* algorithm) {
    return rs256(header_of(algorithm, "k").dump());  // signed by RS256 in truth
  };

  EXPECT_EQ(judged(token("RS256"), rsa_key()), "");
  EXPECT_EQ(judged(token("RS512"), rsa_key()), kNotSigned);
  EXPECT_EQ(judged(token("PS256"), rsa_key()), kNotSigned);
  EXPECT_EQ(judged(token("ES256"), rsa_key()), kOtherAlgorithm);
  for (const char* algorithm :
       {"none", "None", "HS256", "HS384", "HS512", "rs256", "EdDSA", "RSA-OAEP", ""}) {
    EXPECT_EQ(judged(token(algorithm), rsa_key()), "the token is not signed by a known algorithm")
        << algorithm;
  }
}

// The classic confusion: a public key, which everybody has, taken for a secret.
TEST(Jwt, IsNeverProvenByAPublicKeyUsedAsASecret) {
  const auto jwk = signer("RSA").jwk("k").dump();
  const auto signed_part = base64url(header_of("HS256", "k").dump()) + "." + base64url("{}");
  std::string mac(32, '\0');
  unsigned int size = 0;
  ASSERT_NE(HMAC(EVP_sha256(), jwk.data(), static_cast<int>(jwk.size()),
                 reinterpret_cast<const unsigned char*>(signed_part.data()), signed_part.size(),
                 reinterpret_cast<unsigned char*>(mac.data()), &size),
            nullptr);

  EXPECT_EQ(judged(signed_part + "." + base64url(mac), rsa_key()),
            "the token is not signed by a known algorithm");
  EXPECT_EQ(judged(base64url(R"({"alg":"none","typ":"JWT"})") + "." + base64url("{}") + ".", rsa_key()),
            "the token is not signed by a known algorithm");
}

TEST(Jwt, IsNotProvenByAKeyOnAnotherCurve) {
  const auto& pair = signer("P-256");
  const auto key = key_of(pair.jwk("k"));

  EXPECT_EQ(judged(token_of(pair, "ES384", header_of("ES384", "k").dump(), "{}"), key), kOtherAlgorithm);
  EXPECT_EQ(judged(token_of(pair, "ES256", header_of("ES256", "k").dump(), "{}"), key), "");
}

// The library halves whatever it gets, so that one signature would have many spellings.
TEST(Jwt, HasASignatureOfOneLength) {
  const auto& pair = signer("P-256");
  const auto signed_part = base64url(header_of("ES256", "k").dump()) + "." + base64url("{}");
  const auto signature = pair.sign("ES256", signed_part);
  const auto key = key_of(pair.jwk("k"));
  const auto judge = [&](const std::string& bytes) {
    return judged(signed_part + "." + base64url(bytes), key);
  };
  const std::string zero(1, '\0');

  EXPECT_EQ(judge(signature), "");
  EXPECT_EQ(judge(zero + signature.substr(0, 32) + zero + signature.substr(32)), kNotSigned);
  EXPECT_EQ(judge(signature + zero), kNotSigned);
  EXPECT_EQ(judge(""), kNotSigned);
  EXPECT_EQ(judge(std::string(64, '\0')), kNotSigned);
}

TEST(Jwt, IsOfATypeThatSaysAccessTokenOrJwt) {
  const auto judge = [](const std::string& typ) {
    return judged(rs256(R"({"alg":"RS256","typ":)" + typ + "}"), rsa_key());
  };

  for (const char* typ : {R"("at+jwt")", R"("JWT")", R"("jwt")", R"("AT+JWT")", R"("application/at+jwt")"}) {
    EXPECT_EQ(judge(typ), "") << typ;
  }
  for (const char* typ : {R"("logout+jwt")", R"("dpop+jwt")", R"("JWE")", R"("")", "null", "1"}) {
    EXPECT_EQ(judge(typ), "the token is not of type at+jwt or JWT") << typ;
  }
  EXPECT_EQ(judged(rs256(R"({"alg":"RS256"})"), rsa_key()), "the token is not of type at+jwt or JWT");
}

TEST(Jwt, IsReadStrictly) {
  const auto good = rs256(header_of("RS256", "k").dump());
  const auto second = good.rfind('.');
  const auto judge = [](const std::string& token) { return judged(token, rsa_key()); };
  const std::string not_base64 = "the token is not base64url";
  const std::string no_jwt = "the token is no signed JWT";

  EXPECT_EQ(judge(good), "");
  EXPECT_EQ(judge(""), no_jwt);
  EXPECT_EQ(judge("opaque"), no_jwt);
  EXPECT_EQ(judge("a.b"), no_jwt);
  EXPECT_EQ(judge(good + ".x"), no_jwt);
  EXPECT_EQ(judge("a.b.c.d.e"), no_jwt);
  EXPECT_EQ(judge(good + "="), not_base64);
  EXPECT_EQ(judge(good + "\n"), not_base64);
  EXPECT_EQ(judge(good.substr(0, second + 1) + " " + good.substr(second + 1)), not_base64);
  EXPECT_EQ(judge("+" + good), not_base64);
  EXPECT_EQ(judge("eyJ\0." + good), not_base64);
  EXPECT_EQ(judge(std::string(kMaxTokenBytes + 1, 'a')), "the token is too long");
  EXPECT_EQ(judge(".."), "the token's header is no JSON object");
}

// 256 bytes of signature leave two bits over: each of the four last digits would mean the same to many.
TEST(Jwt, HasOneSpelling) {
  const auto good = rs256(header_of("RS256", "k").dump());
  int accepted = 0;
  for (const char c : std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")) {
    auto token = good;
    token.back() = c;
    if (judged(token, rsa_key()).empty()) ++accepted;
  }
  EXPECT_EQ(accepted, 1);
}

TEST(Jwt, HasAHeaderThatIsOneObjectWithEachNameOnce) {
  const auto judge = [](const std::string& header) { return judged(rs256(header), rsa_key()); };
  const std::string no_object = "the token's header is no JSON object";

  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT","alg":"RS256"})"), no_object);
  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT","kid":"a","kid":"k"})"), no_object);
  EXPECT_EQ(judge(R"(["RS256"])"), no_object);
  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT"} )"
                  "x"),
            no_object);
  EXPECT_EQ(judge("{"), no_object);
  EXPECT_EQ(judge(R"({"typ":"JWT"})"), "the token is not signed by a known algorithm");
  EXPECT_EQ(judge(R"({"alg":["RS256"],"typ":"JWT"})"), "the token is not signed by a known algorithm");
  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT","kid":1})"), "the token's kid is no text");
  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT","kid":")" + std::string(257, 'k') + R"("})"),
            "the token's kid is too long");
  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT","crit":["exp"]})"), "the token needs an extension");
  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT","b64":false})"), "the token needs an extension");
  EXPECT_EQ(judge(R"({"alg":"RS256","typ":"JWT","x5t":"abc"})"), "");
}

TEST(Jwt, BringsNoKeyOfItsOwn) {
  const Signer stranger("RSA");
  auto header = header_of("RS256", "k");
  header["jwk"] = stranger.jwk("k");
  header["jku"] = "https://stranger.example/keys";

  EXPECT_EQ(judged(token_of(stranger, "RS256", header.dump(), "{}"), rsa_key()), kNotSigned);
}

TEST(Jwt, HasClaimsThatAreOneObjectWithEachNameOnce) {
  const auto judge = [](const std::string& claims) {
    return judged(rs256(header_of("RS256", "k").dump(), claims), rsa_key());
  };
  const std::string no_object = "the token's claims are no JSON object";

  EXPECT_EQ(judge(R"({"sub":"a","sub":"b"})"), no_object);
  EXPECT_EQ(judge(R"({"a":{"b":1,"b":2}})"), no_object);
  EXPECT_EQ(judge("[]"), no_object);
  EXPECT_EQ(judge("text"), no_object);
  EXPECT_NE(judge(""), "");
  EXPECT_EQ(judge("{\"sub\":\"\xff\"}"), no_object);
  EXPECT_EQ(judge(std::string(100, '[') + std::string(100, ']')), no_object);
}

TEST(VerifyKey, FitsTheAlgorithmsOfItsKindAndCurve) {
  const auto fits = [](const Json& jwk) {
    std::string fitting;
    const auto key = key_of(jwk);
    for (const char* name : {"RS256", "RS512", "PS256", "ES256", "ES384", "ES512", "HS256", "none"}) {
      if (key.fits(name)) fitting += std::string(fitting.empty() ? "" : " ") + name;
    }
    return fitting;
  };
  auto only = signer("RSA").jwk("k");
  only["alg"] = "PS256";

  EXPECT_EQ(fits(signer("RSA").jwk("k")), "RS256 RS512 PS256");
  EXPECT_EQ(fits(only), "PS256");
  EXPECT_EQ(fits(signer("P-256").jwk("k")), "ES256");
  EXPECT_EQ(fits(signer("P-384").jwk("k")), "ES384");
  EXPECT_EQ(fits(signer("P-521").jwk("k")), "ES512");
}

TEST(VerifyKey, IsForSignatures) {
  const auto with = [](const char* name, Json value) {
    auto jwk = signer("RSA").jwk("k");
    jwk[name] = std::move(value);
    return refusal_of(jwk);
  };

  EXPECT_EQ(with("use", "sig"), "");
  EXPECT_EQ(with("use", "enc"), "a key is not for signatures");
  EXPECT_EQ(with("key_ops", {"verify"}), "");
  EXPECT_EQ(with("key_ops", {"encrypt"}), "a key is not for signatures");
  EXPECT_EQ(with("key_ops", "verify"), "a key is not for signatures");
  EXPECT_EQ(with("d", signer("RSA").private_exponent()), "a key holds its private part");
  EXPECT_EQ(with("k", "c2VjcmV0"), "a key holds its private part");
  EXPECT_EQ(with("kid", 1), "a key's name is no text");
  EXPECT_EQ(with("kid", std::string(257, 'k')), "a key's name is too long");
  EXPECT_EQ(with("alg", 1), "a key's name is no text");
}

TEST(VerifyKey, IsOfAKindAndSizeToRelyOn) {
  const std::string weak = "an RSA key has not 2048 to 8192 bits and a small odd exponent";
  const std::string no_point = "an EC key is no point of a known curve";
  const auto changed = [](const std::string& kind, const char* name, Json value) {
    auto jwk = signer(kind).jwk("k");
    jwk[name] = std::move(value);
    return refusal_of(jwk);
  };

  EXPECT_EQ(refusal_of(Signer("RSA", 1024).jwk("k")), weak);
  EXPECT_EQ(refusal_of(Signer("RSA", 2040).jwk("k")), weak);
  EXPECT_EQ(changed("RSA", "n", base64url(std::string(1025, '\xff'))), weak);
  EXPECT_EQ(changed("RSA", "n", base64url(std::string(300, '\0'))), weak);
  EXPECT_EQ(changed("RSA", "n", "not base64"), weak);
  for (const auto& exponent :
       {std::string("\1"), std::string("\0\1", 2), std::string("\2"), std::string(5, '\3'), std::string()}) {
    EXPECT_EQ(changed("RSA", "e", base64url(exponent)), weak);
  }
  EXPECT_EQ(changed("P-256", "crv", "secp256k1"), no_point);
  EXPECT_EQ(changed("P-256", "crv", "P-384"), no_point);
  EXPECT_EQ(changed("P-256", "x", base64url(std::string(31, 'x'))), no_point);
  EXPECT_EQ(changed("P-256", "y", base64url(std::string(32, 'y'))), "a key is not valid");
  EXPECT_EQ(changed("P-256", "kty", "OKP"), "a key is of an unknown kind");
  EXPECT_EQ(changed("P-256", "kty", "oct"), "a key is of an unknown kind");
  EXPECT_EQ(refusal_of(Json::array()), "a key is no object");
}

}  // namespace
}  // namespace repobridge::mcp
