#include "policy/path_rules.h"

#include <gtest/gtest.h>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::code_of;
using tests::value_of;
using Globs = std::vector<std::string>;

PathRules rules_of(PathRules::Settings settings) { return value_of(PathRules::make(std::move(settings))); }

PathRules with_globs(Globs globs) {
  return rules_of({.allow_hidden = true, .disable_default_deny = true, .extra_deny_globs = std::move(globs)});
}

std::string verdict(const PathRules& rules, const std::string& path) {
  return code_of(rules.check(value_of(RepoPath::from_bytes(path))));
}

constexpr std::array kCredentials = {
    ".env",       ".env.local",  "prod.env",      "id_rsa",          "id_dsa",  "id_ecdsa",
    "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "server.pem",      "tls.key", "store.p12",
    "store.pfx",  "store.jks",   "vault.kdbx",    ".netrc",          "_netrc",  ".git-credentials",
    ".npmrc",     ".pypirc",     ".pgpass",       "credentials.json"};

TEST(PathRules, DenyEveryNameWhereCredentialsLive) {
  const auto rules = rules_of({.allow_hidden = true});

  for (const std::string name : kCredentials) {
    EXPECT_EQ(verdict(rules, name), "DENIED_PATH") << name;
    EXPECT_EQ(verdict(rules, "deep/below/" + name), "DENIED_PATH") << name;
    EXPECT_FALSE(rules.visible(name)) << name;
    EXPECT_TRUE(rules.denied(name)) << name;
  }
}

TEST(PathRules, DenyThemInEitherCase) {
  const auto rules = rules_of({.allow_hidden = true});

  for (const char* name : {"ID_RSA", "SeCrEt.PEM", "certs/x.PEM", ".ENV", ".Env.Prod", ".SSH/known_hosts",
                           "Credentials.JSON", ".NetRC", "a/.AWS/config"}) {
    EXPECT_EQ(verdict(rules, name), "DENIED_PATH") << name;
  }
}

TEST(PathRules, DenyEverythingBelowACredentialDirectory) {
  const auto rules = rules_of({.allow_hidden = true});

  for (const char* directory : {".ssh", ".aws", ".gnupg", ".kube", ".docker"}) {
    const std::string name(directory);
    EXPECT_EQ(verdict(rules, name), "DENIED_PATH") << name;
    EXPECT_EQ(verdict(rules, name + "/config"), "DENIED_PATH") << name;
    EXPECT_EQ(verdict(rules, "home/" + name + "/a/b/c"), "DENIED_PATH") << name;
  }
}

TEST(PathRules, LeaveNamesAloneThatOnlyLookAlike) {
  const auto rules = rules_of({.allow_hidden = true});

  for (const char* name :
       {"env", "environment", "id_rsa.pub", "id_rsa_notes.txt", "pem", "server.pem.txt", "keyboard",
        "ssh/config", "docker/config.json", "credentials.json.md", "x.sshd/a"}) {
    EXPECT_EQ(verdict(rules, name), "OK") << name;
    EXPECT_TRUE(rules.visible(name)) << name;
  }
}

TEST(PathRules, HideEveryPathWithAComponentThatBeginsWithADot) {
  const auto rules = rules_of({});

  for (const char* name : {".hidden", "a/.b/c", ".github/workflows/ci.yml", "...", "a/..b"}) {
    EXPECT_EQ(verdict(rules, name), "HIDDEN_PATH_NOT_ALLOWED") << name;
    EXPECT_FALSE(rules.visible(name)) << name;
    EXPECT_FALSE(rules.denied(name)) << name;
  }
  EXPECT_EQ(verdict(rules, "a.b/c.d"), "OK");
}

// All four combinations of the two rules are legal, and neither loosens the other.
TEST(PathRules, KeepTheTwoRulesApart) {
  const auto verdicts = [](bool allow_hidden, bool disable_default_deny) {
    const auto rules = rules_of({.allow_hidden = allow_hidden, .disable_default_deny = disable_default_deny});
    return Globs{verdict(rules, "plain"), verdict(rules, ".hidden"), verdict(rules, "id_rsa"),
                 verdict(rules, ".env")};
  };
  const std::string hidden = "HIDDEN_PATH_NOT_ALLOWED";
  const std::string denied = "DENIED_PATH";

  EXPECT_EQ(verdicts(false, false), (Globs{"OK", hidden, denied, denied}));
  EXPECT_EQ(verdicts(true, false), (Globs{"OK", "OK", denied, denied}));
  EXPECT_EQ(verdicts(false, true), (Globs{"OK", hidden, "OK", hidden}));
  EXPECT_EQ(verdicts(true, true), (Globs{"OK", "OK", "OK", "OK"}));
}

TEST(PathRules, KeepTheAdministratorsGlobsWhenTheBuiltInListIsOff) {
  const auto rules = with_globs({"*.secret", "vault/**"});

  EXPECT_EQ(verdict(rules, "a/b.secret"), "DENIED_PATH");
  EXPECT_EQ(verdict(rules, "vault/x"), "DENIED_PATH");
  EXPECT_EQ(verdict(rules, "id_rsa"), "OK");
}

TEST(PathRules, MatchAPlainGlobOnTheLastComponentOnly) {
  const auto rules = with_globs({"build*"});

  EXPECT_EQ(verdict(rules, "build"), "DENIED_PATH");
  EXPECT_EQ(verdict(rules, "a/Build.log"), "DENIED_PATH");
  EXPECT_EQ(verdict(rules, "build/out.txt"), "OK");
}

TEST(PathRules, MatchADirectoryGlobAtAnyDepth) {
  const auto rules = with_globs({"secret*/**"});

  for (const char* path : {"secrets", "secrets/a", "x/Secret-2/a/b", "x/secrets"}) {
    EXPECT_EQ(verdict(rules, path), "DENIED_PATH") << path;
  }
  EXPECT_EQ(verdict(rules, "my-secrets/a"), "OK");
}

TEST(PathRules, AnswerForDirectoriesAsTheyAreListed) {
  const auto rules = with_globs({"vault/**", "id_*"});

  EXPECT_TRUE(rules.denied("vault/"));
  EXPECT_TRUE(rules.denied("a/vault/"));
  EXPECT_TRUE(rules.denied("id_rsa/"));
  EXPECT_FALSE(rules.denied("a/"));
}

TEST(PathRules, AnswerForPathsThatNoCallerCouldName) {
  const auto rules = rules_of({});

  EXPECT_FALSE(rules.visible(".git/config"));
  EXPECT_FALSE(rules.visible("../x"));
  EXPECT_FALSE(rules.visible("a\xff/.x"));
  EXPECT_TRUE(rules.denied("caf\xE9/id_rsa"));
}

TEST(PathRules, RefuseAGlobOfAnotherForm) {
  for (const char* glob : {"", "/", "a/b", "/a", "a/", "**/a", "a/*/b", "/**", "a/b/**", "a/**/**"}) {
    const auto rules = PathRules::make({.extra_deny_globs = {"fine", glob}});

    EXPECT_EQ(code_of(rules), "CONFIG_INVALID") << glob;
    EXPECT_NE(tests::message_of(rules).find("glob 2 "), std::string::npos) << glob;
  }
}

TEST(PathRules, AreReadBackAsTheyWereWritten) {
  const auto rules = rules_of(
      {.allow_hidden = true, .disable_default_deny = true, .extra_deny_globs = {"*.secret", "v/**"}});

  const auto again = value_of(PathRules::from_json(rules.to_json(), "rules"));

  EXPECT_EQ(again.to_json(), rules.to_json());
  EXPECT_EQ(verdict(again, "v/a"), "DENIED_PATH");
  EXPECT_EQ(verdict(again, ".hidden"), "OK");
}

TEST(PathRules, AreReadStrictly) {
  const auto code = [](const char* text) {
    return code_of(PathRules::from_json(*parse_json(text), "rules"));
  };

  EXPECT_EQ(code("{}"), "OK");
  EXPECT_EQ(code("[]"), "CONFIG_INVALID");
  EXPECT_EQ(code(R"({"allow_hiden":true})"), "CONFIG_INVALID");
  EXPECT_EQ(code(R"({"allow_hidden":"false"})"), "CONFIG_INVALID");
  EXPECT_EQ(code(R"({"allow_hidden":0})"), "CONFIG_INVALID");
  EXPECT_EQ(code(R"({"extra_deny_globs":"*.x"})"), "CONFIG_INVALID");
  EXPECT_EQ(code(R"({"extra_deny_globs":["a/b"]})"), "CONFIG_INVALID");
}

TEST(PathRules, ForgiveNothingByDefault) {
  const PathRules rules;

  EXPECT_EQ(verdict(rules, ".hidden"), "HIDDEN_PATH_NOT_ALLOWED");
  EXPECT_EQ(verdict(rules, "id_rsa"), "DENIED_PATH");
}

TEST(PathRules, NameThePathInDetailsAndNotInTheMessage) {
  const auto refused = PathRules().check(value_of(RepoPath::parse("a/secret.pem")));

  EXPECT_EQ(tests::detail_of(refused, "path"), "a/secret.pem");
  EXPECT_EQ(tests::message_of(refused).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace repobridge::policy
