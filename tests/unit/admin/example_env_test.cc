#include "bridge/admin/example_env.h"

#include <gtest/gtest.h>

#include <map>

#include "policy/actions.h"
#include "policy/settings.h"
#include "policy/text.h"

namespace repobridge::admin {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string filled_in() {
  auto text = replaced(std::string(kExampleEnv), "WORKDIR_01_ALIAS=\n", "WORKDIR_01_ALIAS=demo\n");
  return replaced(text, "WORKDIR_01_PATH=\n", "WORKDIR_01_PATH=/srv/demo\n");
}

// Name to line, of the settings that stand in comments.
std::map<std::string, std::string> commented() {
  std::map<std::string, std::string> found;
  for (const auto& line : policy::split(kExampleEnv, '\n')) {
    const auto equals = line.find('=');
    const bool setting =
        line.starts_with('#') && equals != std::string::npos &&
        line.substr(1, equals - 1).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
            std::string::npos;
    if (setting) found.emplace(line.substr(1, equals - 1), line);
  }
  return found;
}

// Oauth is whole or absent: what stands there with the setting of that name.
std::string with_oauth(std::string text, const std::string& name) {
  const auto settings = commented();
  for (const std::string part : {"ISSUER", "RESOURCE", "JWKS_URL", "ALLOWED_SUBJECTS"}) {
    const auto needed = "REPOBRIDGE_OAUTH_" + part;
    const bool replaced_by_file = part == "JWKS_URL" && name == "REPOBRIDGE_OAUTH_JWKS_FILE";
    if (needed == name || replaced_by_file) continue;
    text = replaced(std::move(text), settings.at(needed), settings.at(needed).substr(1));
  }
  return text;
}

Result<policy::Settings> read(const std::string& text) {
  RB_TRY(const auto file, policy::parse_env_file(text));
  return policy::read_settings(file);
}

TEST(ExampleEnv, AsksForTheAliasFirst) {
  const auto settings = read(std::string(kExampleEnv));

  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().message, "WORKDIR_01_ALIAS is missing");
}

TEST(ExampleEnv, WorksAfterTwoEdits) {
  const auto settings = read(filled_in());

  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->workdirs.size(), 1U);
  EXPECT_TRUE(settings->workdirs[0].repo_ops_enabled);
  EXPECT_TRUE(settings->workdirs[0].read_only);
}

// Settings that are set together or not at all.
const std::map<std::string, std::string> kTogether{
    {"WORKDIR_01_GIT_USER_NAME", "WORKDIR_01_GIT_USER_EMAIL"},
    {"WORKDIR_01_GIT_USER_EMAIL", "WORKDIR_01_GIT_USER_NAME"},
    {"REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE", "REPOBRIDGE_FRONT_TLS_KEY_FILE"},
    {"REPOBRIDGE_FRONT_TLS_KEY_FILE", "REPOBRIDGE_FRONT_TLS_CERTIFICATE_FILE"},
};

TEST(ExampleEnv, EveryCommentedSettingIsAcceptedWhenItsMarkIsTakenAway) {
  for (const auto& [name, line] : commented()) {
    auto text = replaced(filled_in(), line, line.substr(1));
    if (name.find("ACTIONS") != std::string::npos) {
      text = replaced(text, "READ_ONLY=true", "READ_ONLY=false");
    }
    if (name.find("OAUTH") != std::string::npos) text = with_oauth(text, name);
    if (const auto other = kTogether.find(name); other != kTogether.end()) {
      const std::string beside = commented().at(other->second);
      text = replaced(text, beside, beside.substr(1));
    }
    const auto settings = read(text);
    EXPECT_TRUE(settings) << name << ": " << (settings ? "" : settings.error().message);
    if (!settings || !settings->workdirs[0].actions_json) continue;
    EXPECT_TRUE(policy::parse_actions(*settings->workdirs[0].actions_json, name, policy::Digests::required));
  }
}

// A setting that the example leaves out is one that nobody finds.
TEST(ExampleEnv, NamesEverySetting) {
  const auto examples = commented();
  for (const char* name :
       {"WORKDIR_01_DESCRIPTION", "WORKDIR_01_ALLOW_HIDDEN", "WORKDIR_01_DISABLE_DEFAULT_DENY",
        "WORKDIR_01_EXTRA_DENY_GLOBS", "WORKDIR_01_PUSH_URL", "WORKDIR_01_PUSH_BRANCHES",
        "WORKDIR_01_GIT_USER_NAME", "WORKDIR_01_GIT_USER_EMAIL", "WORKDIR_01_REPO_ACTIONS_JSON",
        "WORKDIR_01_REPO_ACTIONS_FILE", "REPOBRIDGE_SOCKET_PATH", "REPOBRIDGE_KEY_FILE",
        "REPOBRIDGE_STATE_DIR", "REPOBRIDGE_LOCK_DIR", "REPOBRIDGE_PUSH_ALLOWED", "SECRET_DETECTION_MODE",
        "MAX_TOOL_RESPONSE_ITEMS", "MAX_TOOL_RESPONSE_CHARS"}) {
    EXPECT_TRUE(examples.contains(name)) << name;
  }
}

}  // namespace
}  // namespace repobridge::admin
