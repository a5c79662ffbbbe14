#include "policy/settings.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::code_of;
using tests::detail_of;
using tests::message_of;
using tests::value_of;

const std::string kWorkdir = "WORKDIR_01_ALIAS=w\nWORKDIR_01_PATH=/srv/w\n";

Result<Settings> read(const std::string& env) { return read_settings(value_of(parse_env_file(env))); }

// The one workdir of a file that says no more than `env` about it.
WorkdirSettings workdir_with(const std::string& env) { return value_of(read(kWorkdir + env)).workdirs.at(0); }

void expect_refused(const std::string& env, const std::string& variable) {
  const auto settings = read(env);

  EXPECT_EQ(code_of(settings), "CONFIG_INVALID") << env;
  EXPECT_EQ(detail_of(settings, "variable"), variable) << env;
  EXPECT_NE(message_of(settings).find(variable), std::string::npos) << message_of(settings);
}

TEST(Settings, HaveDefaultsForEverything) {
  const auto settings = value_of(read(""));

  EXPECT_EQ(settings.socket_path, std::nullopt);
  EXPECT_EQ(settings.key_file, std::nullopt);
  EXPECT_EQ(settings.state_dir, std::nullopt);
  EXPECT_EQ(settings.lock_dir, std::nullopt);
  EXPECT_TRUE(settings.push_allowed.empty());
  EXPECT_TRUE(settings.workdirs.empty());
  EXPECT_EQ(settings.limits.secret_detection, SecretDetection::mask);
  EXPECT_EQ(settings.limits.max_response_items, 1000U);
  EXPECT_EQ(settings.limits.max_response_chars, 100000U);
}

TEST(Settings, AllowNothingInAWorkdirByDefault) {
  const auto workdir = workdir_with("");

  EXPECT_EQ(workdir.alias, "w");
  EXPECT_EQ(workdir.path, "/srv/w");
  EXPECT_TRUE(workdir.read_only);
  EXPECT_FALSE(workdir.repo_ops_enabled);
  EXPECT_FALSE(workdir.rules.allow_hidden);
  EXPECT_FALSE(workdir.rules.disable_default_deny);
  EXPECT_TRUE(workdir.rules.extra_deny_globs.empty());
  EXPECT_EQ(workdir.actions_json, std::nullopt);
  EXPECT_EQ(workdir.actions_file, std::nullopt);
  EXPECT_EQ(workdir.push.url, std::nullopt);
  EXPECT_TRUE(workdir.push.branches.empty());
  EXPECT_EQ(workdir.identity, std::nullopt);
  EXPECT_EQ(workdir.lease_wait, std::chrono::seconds(0));
}

TEST(Settings, HoldWhatIsSaid) {
  const auto settings = value_of(
      read("REPOBRIDGE_SOCKET_PATH=/run/s\nREPOBRIDGE_KEY_FILE=/etc/k\nREPOBRIDGE_STATE_DIR=/var/s\n"
           "REPOBRIDGE_LOCK_DIR=/var/l\nREPOBRIDGE_PUSH_ALLOWED=https://a.example/o/ , ssh://git@b.example/\n"
           "SECRET_DETECTION_MODE=block\nMAX_TOOL_RESPONSE_ITEMS=7\nMAX_TOOL_RESPONSE_CHARS=5000\n" +
           kWorkdir +
           "WORKDIR_01_DESCRIPTION=about w\nWORKDIR_01_READ_ONLY=false\nWORKDIR_01_REPO_OPS_ENABLED=true\n"
           "WORKDIR_01_ALLOW_HIDDEN=true\nWORKDIR_01_DISABLE_DEFAULT_DENY=true\n"
           "WORKDIR_01_EXTRA_DENY_GLOBS=*.x, v/**\nWORKDIR_01_REPO_ACTIONS_JSON={\"a\": 1}\n"
           "WORKDIR_01_PUSH_URL=file:///srv/r.git\nWORKDIR_01_PUSH_BRANCHES=main,release/*\n"
           "WORKDIR_01_GIT_USER_NAME=A B\nWORKDIR_01_GIT_USER_EMAIL=a@b.example\n"
           "WORKDIR_01_LEASE_WAIT_SECONDS=30\n"));

  EXPECT_EQ(settings.socket_path, "/run/s");
  EXPECT_EQ(settings.key_file, "/etc/k");
  EXPECT_EQ(settings.state_dir, "/var/s");
  EXPECT_EQ(settings.lock_dir, "/var/l");
  ASSERT_EQ(settings.push_allowed.size(), 2U);
  EXPECT_EQ(settings.push_allowed[1].text(), "ssh://git@b.example/");
  EXPECT_EQ(settings.limits.secret_detection, SecretDetection::block);
  EXPECT_EQ(settings.limits.max_response_items, 7U);
  EXPECT_EQ(settings.limits.max_response_chars, 5000U);
  const auto& workdir = settings.workdirs.at(0);
  EXPECT_EQ(workdir.slot, "WORKDIR_01_");
  EXPECT_EQ(workdir.description, "about w");
  EXPECT_FALSE(workdir.read_only);
  EXPECT_TRUE(workdir.repo_ops_enabled);
  EXPECT_TRUE(workdir.rules.allow_hidden);
  EXPECT_TRUE(workdir.rules.disable_default_deny);
  EXPECT_EQ(workdir.rules.extra_deny_globs, (std::vector<std::string>{"*.x", "v/**"}));
  EXPECT_EQ(workdir.actions_json, R"({"a": 1})");
  EXPECT_EQ(workdir.push.url->text(), "file:///srv/r.git");
  EXPECT_EQ(workdir.push.branches, (std::vector<std::string>{"main", "release/*"}));
  EXPECT_EQ(workdir.identity->name, "A B");
  EXPECT_EQ(workdir.identity->email, "a@b.example");
  EXPECT_EQ(workdir.lease_wait, std::chrono::seconds(30));
}

TEST(Settings, HoldWhatIsSaidOfTheFront) {
  const auto http =
      value_of(read("REPOBRIDGE_FRONT_TOKEN_FILES=a=/etc/a , b.c=/etc/b=c\n"
                    "REPOBRIDGE_FRONT_READ_ONLY_TOKEN_FILES=d=/etc/"
                    "d\nREPOBRIDGE_FRONT_ALLOWED_HOSTS=A.example,[::2]\n"
                    "REPOBRIDGE_FRONT_ALLOWED_ORIGINS=https://A.example:8443\n"
                    "REPOBRIDGE_FRONT_ALLOW_NON_LOOPBACK=true\nREPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED=true\n"
                    "REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE=/etc/c\nREPOBRIDGE_FRONT_TLS_KEY_FILE=/etc/k\n"
                    "REPOBRIDGE_FRONT_MAX_CONNECTIONS=2\nREPOBRIDGE_FRONT_MAX_CALLS_PER_CALLER=3\n"
                    "REPOBRIDGE_FRONT_READ_SECONDS=4\nREPOBRIDGE_FRONT_WRITE_SECONDS=5\n"
                    "REPOBRIDGE_FRONT_IDLE_SECONDS=6\nREPOBRIDGE_FRONT_KEEPALIVE_SECONDS=7\n"))
          .http;

  const auto tokens = Json::parse(R"([{"name": "a", "file": "/etc/a", "read_only": false},
                                      {"name": "b.c", "file": "/etc/b=c", "read_only": false},
                                      {"name": "d", "file": "/etc/d", "read_only": true}])");
  EXPECT_EQ(to_json(http)["tokens"], tokens);
  EXPECT_EQ(http.allowed_hosts, (std::vector<std::string>{"a.example", "[::2]"}));
  EXPECT_EQ(http.allowed_origins, (std::vector<std::string>{"https://a.example:8443"}));
  EXPECT_TRUE(http.allow_non_loopback);
  EXPECT_TRUE(http.allow_unauthenticated);
  EXPECT_EQ(to_json(http)["tls"], (Json{{"certificate", "/etc/c"}, {"key", "/etc/k"}}));
  EXPECT_EQ(to_json(http)["limits"], (Json{{"connections", 2},
                                           {"calls_at_once_per_caller", 3},
                                           {"read_seconds", 4},
                                           {"write_seconds", 5},
                                           {"idle_seconds", 6},
                                           {"keepalive_seconds", 7}}));
}

TEST(Settings, LetTheFrontServeNobodyByDefault) {
  EXPECT_EQ(to_json(value_of(read("")).http), to_json(HttpPolicy{}));
}

TEST(Settings, RefuseWhatTheFrontCannotUse) {
  for (const auto& [variable, value] : std::vector<std::pair<std::string, std::string>>{
           {"REPOBRIDGE_FRONT_TOKEN_FILES", "/etc/a"},
           {"REPOBRIDGE_FRONT_TOKEN_FILES", "a=etc/a"},
           {"REPOBRIDGE_FRONT_TOKEN_FILES", "=/etc/a"},
           {"REPOBRIDGE_FRONT_TOKEN_FILES", "a=/1,a=/2"},
           {"REPOBRIDGE_FRONT_READ_ONLY_TOKEN_FILES", "a b=/etc/a"},
           {"REPOBRIDGE_FRONT_ALLOWED_HOSTS", "https://a.example"},
           {"REPOBRIDGE_FRONT_ALLOWED_HOSTS", "a.example:80"},
           {"REPOBRIDGE_FRONT_ALLOWED_ORIGINS", "a.example"},
           {"REPOBRIDGE_FRONT_ALLOWED_ORIGINS", "https://a.example/"},
           {"REPOBRIDGE_FRONT_ALLOW_NON_LOOPBACK", "maybe"},
           {"REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED", "maybe"},
           {"REPOBRIDGE_FRONT_MAX_CONNECTIONS", "0"},
           {"REPOBRIDGE_FRONT_MAX_CALLS_PER_CALLER", "257"},
           {"REPOBRIDGE_FRONT_READ_SECONDS", "0"},
           {"REPOBRIDGE_FRONT_WRITE_SECONDS", "601"},
           {"REPOBRIDGE_FRONT_IDLE_SECONDS", "x"},
           {"REPOBRIDGE_FRONT_KEEPALIVE_SECONDS", "-1"}}) {
    expect_refused(variable + "=" + value + "\n", variable);
  }
  expect_refused("REPOBRIDGE_FRONT_TLS_KEY_FILE=/etc/k\n", "REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE");
  expect_refused("REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE=/etc/c\n", "REPOBRIDGE_FRONT_TLS_KEY_FILE");
  expect_refused("REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE=c\nREPOBRIDGE_FRONT_TLS_KEY_FILE=/etc/k\n",
                 "REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE");
}

TEST(Settings, TakeAnEmptyValueForTheDefault) {
  const auto settings =
      value_of(read("SECRET_DETECTION_MODE=\nMAX_TOOL_RESPONSE_ITEMS=\nREPOBRIDGE_SOCKET_PATH=''\n" +
                    kWorkdir + "WORKDIR_01_READ_ONLY=\nWORKDIR_01_PUSH_URL=\n"));

  EXPECT_EQ(settings.socket_path, std::nullopt);
  EXPECT_EQ(settings.limits.max_response_items, 1000U);
  EXPECT_TRUE(settings.workdirs.at(0).read_only);
}

TEST(Settings, KnowEveryNameInTheFile) {
  for (const char* name :
       {"REPOBRIDGE_SOCKETPATH", "SECRET_DETECTION", "PATH", "WORKDIR_1_ALIAS", "WORKDIR_00_ALIAS",
        "WORKDIR_001_ALIAS", "WORKDIR_AA_ALIAS", "WORKDIR_01", "WORKDIR_01_", "WORKDIR__01_ALIAS"}) {
    expect_refused(kWorkdir + name + "=x\n", name);
  }
  expect_refused("REPOBRIDGE_TYPO=\n", "REPOBRIDGE_TYPO");
  expect_refused(kWorkdir + "WORKDIR_01_RAED_ONLY=\n", "WORKDIR_01_RAED_ONLY");
  expect_refused(kWorkdir + "WORKDIR_01_RAED_ONLY=true\n", "WORKDIR_01_RAED_ONLY");
}

TEST(Settings, KnowEveryNameInAnUnusedSlotToo) {
  expect_refused(kWorkdir + "WORKDIR_02_RAED_ONLY=\n", "WORKDIR_02_RAED_ONLY");
  expect_refused("WORKDIR_02_ALIAS=\nWORKDIR_02_RAED_ONLY=\n", "WORKDIR_02_RAED_ONLY");
}

TEST(Settings, HaveAWorkdirWholeOrNotAtAll) {
  expect_refused("WORKDIR_01_ALIAS=w\n", "WORKDIR_01_PATH");
  expect_refused("WORKDIR_01_PATH=/srv/w\n", "WORKDIR_01_ALIAS");
  expect_refused("WORKDIR_01_READ_ONLY=false\n", "WORKDIR_01_ALIAS");
  expect_refused("WORKDIR_02_DESCRIPTION=x\nWORKDIR_02_ALIAS=\nWORKDIR_02_PATH=\n", "WORKDIR_02_ALIAS");
}

TEST(Settings, LeaveASlotOutThatIsNotFilledIn) {
  const auto settings =
      value_of(read("WORKDIR_01_ALIAS=\nWORKDIR_01_PATH=\nWORKDIR_01_READ_ONLY=\n"
                    "WORKDIR_99_ALIAS=z\nWORKDIR_99_PATH=/srv/z\n"));

  ASSERT_EQ(settings.workdirs.size(), 1U);
  EXPECT_EQ(settings.workdirs[0].alias, "z");
}

TEST(Settings, HaveEachAliasOnce) {
  expect_refused(kWorkdir + "WORKDIR_02_ALIAS=w\nWORKDIR_02_PATH=/srv/2\n", "WORKDIR_02_ALIAS");
  EXPECT_EQ(code_of(read(kWorkdir + "WORKDIR_02_ALIAS=W\nWORKDIR_02_PATH=/srv/2\n")), "OK");
}

TEST(Settings, TakeAnAliasOfLettersDigitsUnderscoreAndDash) {
  for (const std::string& alias : {std::string("a"), std::string("A-b_9"), std::string(32, 'a')}) {
    EXPECT_TRUE(is_alias(alias)) << alias;
  }
  for (const std::string& alias :
       {std::string(), std::string(33, 'a'), std::string("1a"), std::string("_a"), std::string("-a"),
        std::string("a b"), std::string("a/b"), std::string("a.b"), std::string("\xC3\xA4"),
        std::string("a\0", 2), std::string("a\n")}) {
    EXPECT_FALSE(is_alias(alias)) << alias;
  }
  expect_refused("WORKDIR_01_ALIAS=a.b\nWORKDIR_01_PATH=/srv/w\n", "WORKDIR_01_ALIAS");
}

TEST(Settings, NeedAbsolutePaths) {
  for (const char* path : {"srv/w", "./w", "~/w", "../w"}) {
    expect_refused("WORKDIR_01_ALIAS=w\nWORKDIR_01_PATH=" + std::string(path) + "\n", "WORKDIR_01_PATH");
    for (const char* name :
         {"REPOBRIDGE_SOCKET_PATH", "REPOBRIDGE_KEY_FILE", "REPOBRIDGE_STATE_DIR", "REPOBRIDGE_LOCK_DIR"}) {
      expect_refused(std::string(name) + "=" + path + "\n", name);
    }
  }
}

TEST(Settings, SpellTrueAndFalseInFourWays) {
  for (const char* word : {"true", "TRUE", "1", "yes", "On"}) {
    EXPECT_TRUE(workdir_with("WORKDIR_01_ALLOW_HIDDEN=" + std::string(word) + "\n").rules.allow_hidden)
        << word;
  }
  for (const char* word : {"false", "False", "0", "no", "off"}) {
    EXPECT_FALSE(workdir_with("WORKDIR_01_READ_ONLY=" + std::string(word) + "\n").read_only) << word;
  }
  for (const char* name : {"READ_ONLY", "REPO_OPS_ENABLED", "ALLOW_HIDDEN", "DISABLE_DEFAULT_DENY"}) {
    for (const char* word : {"maybe", "2", "tru", "t", "y", "enabled", "null", "' true'"}) {
      expect_refused(kWorkdir + "WORKDIR_01_" + name + "=" + word + "\n", "WORKDIR_01_" + std::string(name));
    }
  }
}

TEST(Settings, TakeNumbersToTheirBoundsAndNotOneMore) {
  const auto items = [](const std::string& text) {
    return code_of(read("MAX_TOOL_RESPONSE_ITEMS=" + text + "\n"));
  };
  const auto chars = [](const std::string& text) {
    return code_of(read("MAX_TOOL_RESPONSE_CHARS=" + text + "\n"));
  };

  EXPECT_EQ(items("1"), "OK");
  EXPECT_EQ(items(std::to_string(Limits::kMostItems)), "OK");
  EXPECT_EQ(chars(std::to_string(Limits::kLeastChars)), "OK");
  EXPECT_EQ(chars(std::to_string(Limits::kMostChars)), "OK");
  expect_refused("MAX_TOOL_RESPONSE_ITEMS=" + std::to_string(Limits::kMostItems + 1) + "\n",
                 "MAX_TOOL_RESPONSE_ITEMS");
  expect_refused("MAX_TOOL_RESPONSE_CHARS=" + std::to_string(Limits::kLeastChars - 1) + "\n",
                 "MAX_TOOL_RESPONSE_CHARS");
  expect_refused("MAX_TOOL_RESPONSE_CHARS=" + std::to_string(Limits::kMostChars + 1) + "\n",
                 "MAX_TOOL_RESPONSE_CHARS");
  expect_refused(kWorkdir + "WORKDIR_01_LEASE_WAIT_SECONDS=31\n", "WORKDIR_01_LEASE_WAIT_SECONDS");
  for (const char* text : {"0", "-1", "+1", "1.0", "1e3", "nan", "inf", "0x10", "1 000", "' 5'", "5k",
                           "99999999999999999999999"}) {
    expect_refused("MAX_TOOL_RESPONSE_ITEMS=" + std::string(text) + "\n", "MAX_TOOL_RESPONSE_ITEMS");
  }
}

TEST(Settings, TakeListsWithoutEmptyElements) {
  EXPECT_EQ(workdir_with("WORKDIR_01_PUSH_BRANCHES= main , dev\n").push.branches,
            (std::vector<std::string>{"main", "dev"}));
  for (const char* list : {"main,", ",main", "main,,dev", ",", "main, ,dev"}) {
    expect_refused(kWorkdir + "WORKDIR_01_PUSH_BRANCHES=" + list + "\n", "WORKDIR_01_PUSH_BRANCHES");
  }
}

TEST(Settings, RefuseAGlobOfAnotherForm) {
  expect_refused(kWorkdir + "WORKDIR_01_EXTRA_DENY_GLOBS=*.x,a/b\n", "WORKDIR_01_EXTRA_DENY_GLOBS");
}

TEST(Settings, TakeActionsFromOnePlaceAndForAWritableWorkdirOnly) {
  const std::string writable = kWorkdir + "WORKDIR_01_READ_ONLY=false\n";

  EXPECT_EQ(code_of(read(writable + "WORKDIR_01_REPO_ACTIONS_FILE=/etc/actions.json\n")), "OK");
  expect_refused(
      writable + "WORKDIR_01_REPO_ACTIONS_FILE=/etc/actions.json\nWORKDIR_01_REPO_ACTIONS_JSON={}\n",
      "WORKDIR_01_REPO_ACTIONS_FILE");
  expect_refused(kWorkdir + "WORKDIR_01_REPO_ACTIONS_FILE=/etc/actions.json\n", "WORKDIR_01_READ_ONLY");
  expect_refused(kWorkdir + "WORKDIR_01_REPO_ACTIONS_JSON={}\n", "WORKDIR_01_READ_ONLY");
}

TEST(Settings, TakeAnIdentityWholeOrNotAtAll) {
  expect_refused(kWorkdir + "WORKDIR_01_GIT_USER_NAME=A\n", "WORKDIR_01_GIT_USER_EMAIL");
  expect_refused(kWorkdir + "WORKDIR_01_GIT_USER_EMAIL=a@b\n", "WORKDIR_01_GIT_USER_NAME");
  expect_refused(kWorkdir + "WORKDIR_01_GIT_USER_NAME=A <x\nWORKDIR_01_GIT_USER_EMAIL=a@b\n",
                 "WORKDIR_01_GIT_USER_NAME");
  expect_refused(kWorkdir + "WORKDIR_01_GIT_USER_NAME=A\nWORKDIR_01_GIT_USER_EMAIL=<a@b>\n",
                 "WORKDIR_01_GIT_USER_EMAIL");
}

TEST(Settings, RefuseAPushTargetOfNoAllowedForm) {
  expect_refused(kWorkdir + "WORKDIR_01_PUSH_URL=http://a.example/o/r\n", "WORKDIR_01_PUSH_URL");
  expect_refused(kWorkdir + "WORKDIR_01_PUSH_URL=https://u:s3cret@a.example/o/r\n", "WORKDIR_01_PUSH_URL");
  expect_refused("REPOBRIDGE_PUSH_ALLOWED=https://a.example/o\n", "REPOBRIDGE_PUSH_ALLOWED");
  expect_refused("REPOBRIDGE_PUSH_ALLOWED=file:///srv/\n", "REPOBRIDGE_PUSH_ALLOWED");
  expect_refused("SECRET_DETECTION_MODE=on\n", "SECRET_DETECTION_MODE");
}

TEST(Settings, DescribeAWorkdirInAKilobyte) {
  EXPECT_EQ(workdir_with("WORKDIR_01_DESCRIPTION=" + std::string(1024, 'd') + "\n").description.size(),
            1024U);
  expect_refused(kWorkdir + "WORKDIR_01_DESCRIPTION=" + std::string(1025, 'd') + "\n",
                 "WORKDIR_01_DESCRIPTION");
}

TEST(Settings, RepeatNoValueInARefusal) {
  const auto settings = read(kWorkdir + "WORKDIR_01_PUSH_URL=https://u:s3cret@a.example/o/r\n");

  EXPECT_EQ((message_of(settings) + tests::details_of(settings).dump()).find("s3cret"), std::string::npos);
}

TEST(Settings, BoundRuns) {
  const auto settings = value_of(
      read("REPOBRIDGE_CALL_WAIT_SECONDS=40\nREPOBRIDGE_MAX_RUN_SECONDS=86400\nREPOBRIDGE_MAX_RUNS=2\n"
           "REPOBRIDGE_MAX_RUNS_PER_CALLER=1\nREPOBRIDGE_CALLS_PER_MINUTE=9\n"
           "REPOBRIDGE_CALLS_PER_MINUTE_PER_CALLER=8\n"));

  EXPECT_EQ(settings.runs.call_wait, std::chrono::seconds(40));
  EXPECT_EQ(settings.runs.longest, std::chrono::seconds(86400));
  EXPECT_EQ(settings.runs.at_once, 2U);
  EXPECT_EQ(settings.runs.at_once_per_caller, 1U);
  EXPECT_EQ(settings.runs.calls_per_minute, 9U);
  EXPECT_EQ(settings.runs.calls_per_minute_per_caller, 8U);
}

// The four settings that OAuth needs, but for one.
std::string oauth_without(const std::string& name) {
  std::string env;
  for (const auto& [setting, value] :
       std::map<std::string, std::string>{{"ISSUER", "https://login.example"},
                                          {"RESOURCE", "https://front.example/mcp"},
                                          {"JWKS_URL", "https://login.example/keys"},
                                          {"ALLOWED_SUBJECTS", "a, b"}}) {
    if (setting != name) env += "REPOBRIDGE_OAUTH_" + setting + "=" + value + "\n";
  }
  return env;
}

const std::string kOauth = oauth_without("");

TEST(Settings, TakeOauthWholeOrNotAtAll) {
  EXPECT_FALSE(value_of(read("")).oauth);
  const auto oauth = value_of(read(kOauth)).oauth;

  ASSERT_TRUE(oauth);
  EXPECT_EQ(oauth->issuer, "https://login.example");
  EXPECT_EQ(oauth->resource, "https://front.example/mcp");
  EXPECT_EQ(oauth->jwks_url, "https://login.example/keys");
  EXPECT_EQ(oauth->allowed_subjects, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(oauth->algorithms, (std::vector<std::string>{"RS256", "ES256"}));
  EXPECT_EQ(oauth->login_claim, "sub");
  EXPECT_EQ(oauth->leeway, std::chrono::seconds(60));
  for (const std::string name : {"ISSUER", "RESOURCE", "JWKS_URL", "ALLOWED_SUBJECTS"}) {
    expect_refused(oauth_without(name), "REPOBRIDGE_OAUTH_" + name);
  }
  for (const char* alone : {"JWKS_FILE=/k", "JWKS_CA_FILE=/k", "ALGORITHMS=RS256", "LOGIN_CLAIM=email",
                            "LEEWAY_SECONDS=0", "ALLOWED_SUBJECTS=a"}) {
    expect_refused("REPOBRIDGE_OAUTH_" + std::string(alone) + "\n", "REPOBRIDGE_OAUTH_ISSUER");
  }
}

TEST(Settings, TakeEveryPartOfOauth) {
  const auto oauth =
      value_of(read(kOauth + "REPOBRIDGE_OAUTH_JWKS_CA_FILE=/ca\nREPOBRIDGE_OAUTH_ALGORITHMS=PS256\n"
                             "REPOBRIDGE_OAUTH_LOGIN_CLAIM=email\nREPOBRIDGE_OAUTH_LEEWAY_SECONDS=0\n"))
          .oauth;

  EXPECT_EQ(oauth->jwks_ca_file, "/ca");
  EXPECT_EQ(oauth->algorithms, std::vector<std::string>{"PS256"});
  EXPECT_EQ(oauth->login_claim, "email");
  EXPECT_EQ(oauth->leeway, std::chrono::seconds(0));
  expect_refused(kOauth + "REPOBRIDGE_OAUTH_JWKS_FILE=/k\n", "REPOBRIDGE_OAUTH_JWKS_FILE");
  expect_refused(kOauth + "REPOBRIDGE_OAUTH_ALGORITHMS=none\n", "REPOBRIDGE_OAUTH_ALGORITHMS");
  expect_refused(kOauth + "REPOBRIDGE_OAUTH_LEEWAY_SECONDS=301\n", "REPOBRIDGE_OAUTH_LEEWAY_SECONDS");
}

}  // namespace
}  // namespace repobridge::policy
