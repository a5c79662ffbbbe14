#include "policy/secrets.h"

#include <gtest/gtest.h>

#include "policy/text.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::code_of;
using tests::value_of;
using Secrets = std::vector<std::string>;

// Made up of pieces, so that no scanner takes this file for a leak.
const std::string kGithub =
    "ghp"
    "_" +
    std::string(36, 'a');
const std::string kPrivateKey =
    "-----BEGIN OPENSSH PRIVATE"
    " KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nAAAA\n"
    "-----END OPENSSH PRIVATE"
    " KEY-----";

std::string redacted(const std::string& text, Secrets exact, SecretDetection mode = SecretDetection::off) {
  Json value = text;
  value_of(Redactor(mode, std::move(exact)).apply(value));
  return value.get<std::string>();
}

bool is_masked(const std::string& text) { return mask_patterns(text) != text; }

// --- exact values ------------------------------------------------------------------------------------------

TEST(ExactSecrets, AreReplacedWhereverTheyStandInEveryMode) {
  for (const auto mode : {SecretDetection::mask, SecretDetection::off, SecretDetection::block}) {
    EXPECT_EQ(redacted("correct horse", {"correct horse"}, mode), "[REDACTED]");
    EXPECT_EQ(redacted("a correct horse, a correct horse!", {"correct horse"}, mode),
              "a [REDACTED], a [REDACTED]!");
  }
}

TEST(ExactSecrets, MayHoldAnyBytes) {
  for (const std::string& secret :
       {std::string("p'ass\"w'ord"), std::string("abc\\\\\\\\\\"), std::string("\\\\\\\\\\\\\\\\"),
        std::string("line\nbreak"), std::string("nul\0byte!", 9), std::string("p\xC3\xA4ssw\xC3\xB6rt"),
        std::string("\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8"), std::string("{\"a\":\"b\"}"),
        std::string("[REDACTED]")}) {
    EXPECT_EQ(redacted("<" + secret + ">", {secret}), "<[REDACTED]>");
  }
}

TEST(ExactSecrets, LeaveNothingOfTheLongerOneBehind) {
  EXPECT_EQ(redacted("x hunter2hunter2-and-more y", {"hunter2hunter2", "hunter2hunter2-and-more"}),
            "x [REDACTED] y");
  EXPECT_EQ(redacted("x hunter2hunter2-and-more y", {"hunter2hunter2-and-more", "hunter2hunter2"}),
            "x [REDACTED] y");
}

TEST(ExactSecrets, LeaveNothingOfTwoThatOverlap) {
  EXPECT_EQ(redacted("<firstpart-shared-lastpart>", {"firstpart-shared", "shared-lastpart"}), "<[REDACTED]>");
  EXPECT_EQ(redacted("<abababababab>", {"abababab"}), "<[REDACTED]>");
}

TEST(ExactSecrets, AreNotLookedForInTheirOwnReplacement) {
  EXPECT_EQ(redacted("REDACTED my-secret-value", {"REDACTED", "my-secret-value"}), "[REDACTED] [REDACTED]");
}

TEST(ExactSecrets, ShorterThanTheFloorWouldHitOrdinaryWords) {
  EXPECT_EQ(redacted("the main branch", {"main", ""}), "the main branch");
  EXPECT_EQ(redacted("12345678", {"12345678"}), "[REDACTED]");
  EXPECT_EQ(redacted("1234567", {"1234567"}), "1234567");
}

TEST(ExactSecrets, AreFoundAtAnyDepthAndInNamesToo) {
  Json value =
      *parse_json(R"({"a":[{"b":["x s3cret-value y"]}],"s3cret-value.txt":{"c":"s3cret-value"},"n":5})");

  value_of(Redactor(SecretDetection::off, {"s3cret-value"}).apply(value));

  EXPECT_EQ(value.dump(), R"({"[REDACTED].txt":{"c":"[REDACTED]"},"a":[{"b":["x [REDACTED] y"]}],"n":5})");
}

TEST(ExactSecrets, LeaveOtherValuesAlone) {
  const Json before = *parse_json(R"({"null":null,"n":12345678,"f":1.5,"b":true,"e":[],"o":{},"s":"text"})");
  Json value = before;

  value_of(Redactor(SecretDetection::mask, {"12345678"}).apply(value));

  EXPECT_EQ(value, before);
}

// --- patterns ----------------------------------------------------------------------------------------------

TEST(SecretPatterns, KnowTheTokensOfProviders) {
  const std::string word(40, 'A');
  for (const std::string& token :
       {std::string("AKIA") + "IOSFODNN7EXAMPLE", std::string("ASIA") + "IOSFODNN7EXAMPLE", kGithub,
        "gho"
        "_" +
            std::string(36, 'b'),
        "github_pat"
        "_" +
            std::string(40, 'c'),
        "glpat"
        "-" +
            std::string(20, 'd'),
        "xoxb"
        "-" +
            std::string("1234567890-abcdef"),
        "sk"
        "-" +
            std::string(40, 'e'),
        "sk"
        "-proj-" +
            std::string(40, 'e'),
        "AIza" + std::string(35, 'f'),
        "npm"
        "_" +
            std::string(36, 'g'),
        "sk"
        "_live_" +
            std::string(24, 'h'),
        "pypi"
        "-" +
            std::string(40, 'i'),
        "eyJ" + std::string(20, 'j') + ".eyJ" + std::string(20, 'k') + "." + std::string(20, 'l')}) {
    for (const auto& text :
         {token, "see " + token + " here", "(" + token + ")", "\"" + token + "\"", "x=" + token}) {
      const auto masked = mask_patterns(text);
      EXPECT_EQ(masked.find(token), std::string::npos) << text;
      EXPECT_NE(masked.find(token.substr(0, 4) + "…[masked]"), std::string::npos) << masked;
    }
  }
}

TEST(SecretPatterns, KnowPrivateKeysWholeAndCutOff) {
  const std::string cut_off = kPrivateKey.substr(0, 60);

  EXPECT_EQ(mask_patterns("a\n" + kPrivateKey + "\nb"), "a\n----…[masked]\nb");
  EXPECT_EQ(mask_patterns("a\n" + cut_off), "a\n----…[masked]");
  EXPECT_FALSE(is_masked("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"));
  EXPECT_FALSE(is_masked("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"));
}

TEST(SecretPatterns, EndAPrivateKeyWhereItEnds) {
  EXPECT_EQ(mask_patterns(kPrivateKey + " kept " + kPrivateKey), "----…[masked] kept ----…[masked]");
}

TEST(SecretPatterns, KnowAssignmentsInEverySyntax) {
  for (const char* text :
       {"password=hunter2222", "PASSWORD=hunter2222", "export API_KEY=hunter2222", "api-key: hunter2222",
        "apikey := \"hunter2222\"", "\"password\": \"hunter2222\"", "'secret' => 'hunter2222'",
        "bot_token: \"hunter2222\"", "client_secret = hunter2222", "passphrase: 'correcthorse'",
        "db_password=\"correcthorse\"", "?token=hunter2222&x=y", "X-Api-Key: hunter2222",
        "+  password: hunter2222", "AWS_SECRET_ACCESS_KEY=hunter2222", "passwd: hunter2222",
        "credential=hunter2222"}) {
    const auto masked = mask_patterns(text);
    EXPECT_EQ(masked.find("hunter2222"), std::string::npos) << masked;
    EXPECT_EQ(masked.find("correcthorse"), std::string::npos) << masked;
    EXPECT_NE(masked.find("…[masked]"), std::string::npos) << text;
  }
}

TEST(SecretPatterns, KnowHeadersAndPasswordsInUrls) {
  EXPECT_EQ(mask_patterns("Authorization: Bearer abcdefghijkl"), "Authorization: Bearer abcd…[masked]");
  EXPECT_EQ(mask_patterns("authorization: basic dXNlcjpwYXNz"), "authorization: basic dXNl…[masked]");
  EXPECT_EQ(mask_patterns("https://user:p4ssword@example.org/r"), "https://user:p4ss…[masked]@example.org/r");
  EXPECT_EQ(mask_patterns("https://:p4ssword@example.org/r"), "https://:p4ss…[masked]@example.org/r");
  EXPECT_EQ(mask_patterns("redis://user:pw@h"), "redis://user:p…[masked]@h");
}

TEST(SecretPatterns, LeaveDigestsAndOrdinaryTextAlone) {
  for (const char* text :
       {"da39a3ee5e6b4b0d3255bfef95601890afd80709", "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "\"integrity\": \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
        "index 83db48f..bf269f4 100644",
        "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "https://example.org:8443/a/b", "https://user@example.org/a",
        "the password is asked for at the prompt", "password = get_password()",
        "token = parser.next_token(state)", "password: string", "tokenizer: spacy",
        "risk-assessment-of-long-names-in-lists", "api_key = os.environ[\"KEY\"]", "secret: $SECRET_NAME_1",
        "def authorization(request):", "const password = props.password"}) {
    EXPECT_EQ(mask_patterns(text), text);
  }
}

TEST(SecretPatterns, MaskEverySecretOfAText) {
  const auto masked = mask_patterns(kGithub + " and " + kGithub + "\npassword=hunter2222\n");

  EXPECT_EQ(masked, "ghp_…[masked] and ghp_…[masked]\npassword=hunt…[masked]\n");
}

TEST(SecretPatterns, ShowAtMostHalfOfASecret) {
  EXPECT_EQ(mask_patterns("redis://u:abc@h"), "redis://u:a…[masked]@h");
  EXPECT_EQ(mask_patterns("redis://u:a@h"), "redis://u:…[masked]@h");
}

TEST(SecretPatterns, NeverCutACharacterInTwo) {
  for (const char* secret : {"\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                             "1",
                             "a\xF0\x9F\x98\x80"
                             "bcdefgh1",
                             "ab\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F"
                             "1"}) {
    const auto masked = mask_patterns("password=\"" + std::string(secret) + "\"");

    EXPECT_TRUE(is_utf8(masked)) << masked;
    EXPECT_EQ(masked.find(secret), std::string::npos);
  }
}

TEST(SecretPatterns, AreFoundBesideBytesThatAreNotUtf8) {
  const std::string key_with_rubbish =
      "-----BEGIN PRIVATE"
      " KEY-----\nMII\xff\xfe"
      "AAAA\n-----END PRIVATE"
      " KEY-----";

  EXPECT_EQ(mask_patterns("\xff" + kGithub + "\xfe"),
            "\xff"
            "ghp_…[masked]\xfe");
  EXPECT_EQ(mask_patterns(key_with_rubbish), "----…[masked]");
  EXPECT_TRUE(
      is_masked("password=\"hunter\xff"
                "2222\""));
}

TEST(SecretPatterns, AreTheSameAppliedTwice) {
  for (const auto& text : {kGithub, kPrivateKey, std::string("password=hunter2222"),
                           std::string("https://user:p4ssword@example.org/r"),
                           std::string("Authorization: Bearer abcdefghijkl")}) {
    EXPECT_EQ(mask_patterns(mask_patterns(text)), mask_patterns(text));
  }
}

TEST(SecretPatterns, TakeTimeInProportionToTheText) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text +=
        "-----BEGIN PRIVATE"
        " KEY-----\n";

  EXPECT_TRUE(is_masked(text));
  EXPECT_FALSE(is_masked(std::string(500000, 'a') + ":"));
}

// --- modes -------------------------------------------------------------------------------------------------

TEST(Redactor, MasksInItsMode) {
  EXPECT_EQ(redacted("x " + kGithub, {}, SecretDetection::mask), "x ghp_…[masked]");
  EXPECT_EQ(redacted("x " + kGithub, {}, SecretDetection::off), "x " + kGithub);
}

TEST(Redactor, RefusesTheWholeAnswerInModeBlock) {
  Json value{{"a", {{"b", {"fine", "x " + kGithub}}}}};

  const auto refused = Redactor(SecretDetection::block, {}).apply(value);

  EXPECT_EQ(code_of(refused), "SECRET_BLOCKED");
  EXPECT_EQ(refused.error().kind, Kind::secret_blocked);
  EXPECT_EQ(tests::message_of(refused).find("ghp"), std::string::npos);
}

TEST(Redactor, BlocksNothingThatTheExactValuesAlreadyRemoved) {
  EXPECT_EQ(redacted(kGithub, {kGithub}, SecretDetection::block), "[REDACTED]");
}

TEST(Redactor, KeepsTheValueParseable) {
  Json value{{"patch", "+password = \"he\\\"llo w0rld\"\n+{\"token\": \"hunter2222\"}\n"}};

  value_of(Redactor(SecretDetection::mask, {"he\\\"llo"}).apply(value));

  EXPECT_EQ(*parse_json(dump_json(value)), value);
}

}  // namespace
}  // namespace repobridge::policy
