#include "policy/policy.h"

#include <gtest/gtest.h>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::argument_of;
using tests::code_of;
using tests::value_of;

// With a value in every place, so that whatever reading or writing forgets is missed.
BridgePolicy full_policy() {
  Workdir workdir{.alias = "w", .description = "about w", .read_only = false};
  workdir.rules = value_of(PathRules::make(
      {.allow_hidden = true, .disable_default_deny = true, .extra_deny_globs = {"*.x", "v/**"}}));
  workdir.path = "/srv/host-path";
  workdir.actions.emplace(
      "check",
      Action{.name = "check",
             .argv = {"host-program", "a"},
             .argument = ActionArgument::path,
             .mutates = true,
             .integrity = {{value_of(RepoPath::parse("pinned")), Pin{.digest = std::string(64, 'a')}}},
             .timeout = std::chrono::seconds(7),
             .max_output_bytes = 4096,
             .description = "about check"});
  workdir.push = {.url = value_of(PushUrl::parse("https://push.example/o/r")), .branches = {"main", "r/*"}};
  workdir.identity = GitIdentity{.name = "A B", .email = "a@b.example"};
  workdir.lease_wait = std::chrono::seconds(9);
  BridgePolicy policy{
      .digest = "the-digest",
      .socket_path = "/run/bridge.sock",
      .state_dir = "/var/state",
      .lock_dir = "/var/locks",
      .limits = {.secret_detection = SecretDetection::block,
                 .max_response_items = 7,
                 .max_response_chars = 5000},
      .fronts = {{.name = "front", .key_file = "/etc/key", .workdirs = {"w"}, .read_only = true},
                 {.name = "other", .key_file = "/etc/other"}},
      .push_allowed = {value_of(PushAllowance::parse("ssh://git@push.example/"))}};
  policy.workdirs.emplace("w", std::move(workdir));
  policy.workdirs.emplace("plain", Workdir{.alias = "plain", .path = "/srv/plain"});
  return policy;
}

Json full_json() { return to_json(full_policy()); }
Json front_json() { return to_json(front_side(full_policy(), full_policy().fronts[0])); }

Json edited(Json document, const char* pointer, Json value) {
  document[Json::json_pointer(pointer)] = std::move(value);
  return document;
}

Json without(Json document, const std::string& parent, const std::string& name) {
  document[Json::json_pointer(parent)].erase(name);
  return document;
}

TEST(BridgePolicy, IsReadBackAsItWasWritten) {
  const auto again = value_of(bridge_policy_from_json(full_json()));

  EXPECT_EQ(to_json(again), full_json());
  EXPECT_EQ(digest_input(again), digest_input(full_policy()));
}

TEST(BridgePolicy, IsReadWithEveryValueInItsPlace) {
  const auto policy = value_of(bridge_policy_from_json(full_json()));

  EXPECT_EQ(policy.digest, "the-digest");
  EXPECT_EQ(policy.socket_path, "/run/bridge.sock");
  EXPECT_EQ(policy.state_dir, "/var/state");
  EXPECT_EQ(policy.lock_dir, "/var/locks");
  EXPECT_EQ(policy.limits.secret_detection, SecretDetection::block);
  EXPECT_EQ(policy.limits.max_response_items, 7U);
  EXPECT_EQ(policy.limits.max_response_chars, 5000U);
  EXPECT_EQ(policy.fronts.at(0).workdirs, std::vector<std::string>{"w"});
  EXPECT_TRUE(policy.fronts.at(0).read_only);
  EXPECT_FALSE(policy.fronts.at(1).read_only);
  EXPECT_EQ(policy.push_allowed.at(0).text(), "ssh://git@push.example/");
  const auto& workdir = policy.workdirs.at("w");
  EXPECT_FALSE(workdir.read_only);
  EXPECT_EQ(workdir.path, "/srv/host-path");
  EXPECT_EQ(workdir.actions.at("check").timeout, std::chrono::seconds(7));
  EXPECT_EQ(workdir.push.url->text(), "https://push.example/o/r");
  EXPECT_EQ(workdir.push.branches, (std::vector<std::string>{"main", "r/*"}));
  EXPECT_EQ(workdir.identity->email, "a@b.example");
  EXPECT_EQ(workdir.lease_wait, std::chrono::seconds(9));
  EXPECT_TRUE(policy.workdirs.at("plain").read_only);
  EXPECT_EQ(policy.workdirs.at("plain").push.url, std::nullopt);
  EXPECT_EQ(policy.workdirs.at("plain").identity, std::nullopt);
}

TEST(BridgePolicy, HasADigestOverEverythingElse) {
  auto other_digest = full_policy();
  other_digest.digest = "another";
  EXPECT_EQ(digest_input(other_digest), digest_input(full_policy()));

  const std::vector<std::pair<const char*, Json>> edits{
      {"/socket_path", "/x"},
      {"/limits/max_response_items", 8},
      {"/fronts/0/read_only", false},
      {"/push_allowed/0", "ssh://git@x.example/"},
      {"/workdirs/1/read_only", true},
      {"/workdirs/1/rules/extra_deny_globs", Json::array()},
      {"/workdirs/1/actions/check/integrity/pinned", std::string(64, 'b')},
      {"/workdirs/1/push/branches", Json::array()},
      {"/workdirs/1/identity", nullptr},
      {"/workdirs/1/lease_wait_seconds", 8}};
  for (const auto& [pointer, value] : edits) {
    const auto changed = value_of(bridge_policy_from_json(edited(full_json(), pointer, value)));
    EXPECT_NE(digest_input(changed), digest_input(full_policy())) << pointer;
  }
}

TEST(BridgePolicy, RefusesAKeyItDoesNotKnowAtEveryLevel) {
  for (const char* parent : {"", "/limits", "/fronts/0", "/workdirs/0", "/workdirs/1/rules",
                             "/workdirs/1/push", "/workdirs/1/identity", "/workdirs/1/actions/check"}) {
    const auto refused =
        bridge_policy_from_json(edited(full_json(), (std::string(parent) + "/unknown").c_str(), 1));

    EXPECT_EQ(code_of(refused), "CONFIG_INVALID") << parent;
  }
}

TEST(BridgePolicy, RefusesADocumentThatLacksAKey) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> required{
      {"",
       {"version", "digest", "socket_path", "state_dir", "lock_dir", "limits", "fronts", "push_allowed",
        "workdirs"}},
      {"/limits", {"secret_detection", "max_response_items", "max_response_chars"}},
      {"/fronts/0", {"name", "key_file", "workdirs"}},
      {"/workdirs/1", {"alias", "description", "rules", "path", "actions", "push"}},
      {"/workdirs/1/push", {"url", "branches"}},
      {"/workdirs/1/identity", {"name", "email"}}};
  for (const auto& [parent, names] : required) {
    for (const auto& name : names) {
      EXPECT_EQ(code_of(bridge_policy_from_json(without(full_json(), parent, name))), "CONFIG_INVALID")
          << parent << "/" << name;
    }
  }
}

// What is not said must never allow more.
TEST(BridgePolicy, IsReadOnlyWhereNothingIsSaid) {
  const auto policy = value_of(bridge_policy_from_json(
      without(without(full_json(), "/fronts/1", "read_only"), "/workdirs/1", "read_only")));

  EXPECT_TRUE(policy.fronts.at(1).read_only);
  EXPECT_TRUE(policy.workdirs.at("w").read_only);
}

TEST(BridgePolicy, LetsNobodyWaitWhereNothingIsSaid) {
  const auto policy =
      value_of(bridge_policy_from_json(without(full_json(), "/workdirs/1", "lease_wait_seconds")));

  EXPECT_EQ(policy.workdirs.at("w").lease_wait, std::chrono::seconds(0));
}

TEST(BridgePolicy, RefusesValuesOutOfBounds) {
  const std::vector<std::pair<const char*, Json>> edits{
      {"/version", 0},
      {"/version", 2},
      {"/version", "1"},
      {"/version", true},
      {"/limits/secret_detection", "on"},
      {"/limits/max_response_items", 0},
      {"/limits/max_response_items", Limits::kMostItems + 1},
      {"/limits/max_response_chars", Limits::kLeastChars - 1},
      {"/limits/max_response_chars", Limits::kMostChars + 1},
      {"/fronts", Json::object()},
      {"/fronts/0/workdirs", "w"},
      {"/fronts/0/read_only", 0},
      {"/push_allowed/0", "https://a.example/not-a-prefix"},
      {"/push_allowed/0", "file:///srv/"},
      {"/workdirs/1/alias", "no alias"},
      {"/workdirs/1/alias", "plain"},
      {"/workdirs/1/read_only", "false"},
      {"/workdirs/1/rules/extra_deny_globs", {"a/b"}},
      {"/workdirs/1/actions/check/integrity", Json::object()},
      {"/workdirs/1/actions/check/timeout_seconds", kMaxActionTimeout.count() + 1},
      {"/workdirs/1/push/timeout_seconds", 0},
      {"/runs/call_wait_seconds", RunLimits::kLongestWait.count() + 1},
      {"/runs/call_wait_seconds", 0},
      {"/runs/longest_seconds", 0},
      {"/runs/at_once", 0},
      {"/runs/at_once_per_caller", RunLimits::kMostAtOnce + 1},
      {"/runs/calls_per_minute", 0},
      {"/runs/calls_per_minute_per_caller", RunLimits::kMostCalls + 1},
      {"/runs", Json::array()},
      {"/workdirs/1/push/url", "http://a.example/r"},
      {"/workdirs/1/push/url", 1},
      {"/workdirs/1/identity", "A B"},
      {"/workdirs/1/lease_wait_seconds", 31}};
  for (const auto& [pointer, value] : edits) {
    EXPECT_EQ(code_of(bridge_policy_from_json(edited(full_json(), pointer, value))), "CONFIG_INVALID")
        << pointer << " " << value;
  }
}

TEST(BridgePolicy, NamesTheFieldOfARefusalByItsPath) {
  const auto refused = bridge_policy_from_json(edited(full_json(), "/workdirs/1/push/branches", "main"));

  EXPECT_EQ(argument_of(refused), "workdirs[1].push.branches");
  EXPECT_NE(tests::message_of(refused).find("'workdirs[1].push.branches'"), std::string::npos);
}

TEST(FrontPolicy, IsReadBackAsItWasWritten) {
  const auto again = value_of(front_policy_from_json(front_json()));

  EXPECT_EQ(to_json(again), front_json());
  EXPECT_EQ(again.digest, "the-digest");
  EXPECT_EQ(again.bridge.socket_path, "/run/bridge.sock");
  EXPECT_EQ(again.bridge.key_name, "front");
  EXPECT_EQ(again.bridge.key_file, "/etc/key");
  EXPECT_EQ(again.limits.max_response_chars, 5000U);
  EXPECT_EQ(again.workdirs.at("w").description, "about w");
}

TEST(FrontPolicy, HoldsHowTheFrontServes) {
  auto policy = front_side(full_policy(), full_policy().fronts[0]);
  policy.http.tokens = {{.name = "a", .file = "/etc/a"}};
  Json before = to_json(policy);
  EXPECT_EQ(value_of(front_policy_from_json(before)).http.tokens.at(0).file, "/etc/a");

  before.erase("http");
  EXPECT_TRUE(value_of(front_policy_from_json(before)).http.tokens.empty());
}

TEST(FrontPolicy, HoldsNothingOfTheHostsSide) {
  const auto text = front_json().dump();

  for (const char* secret : {"/srv/", "host-path", "host-program", "check", "pinned", "push.example", "/var/",
                             "a@b", "/etc/other", "plain"}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << secret;
  }
}

TEST(FrontPolicy, IsOfTheGrantedWorkdirsOnly) {
  const auto policy = full_policy();

  const auto first = front_side(policy, policy.fronts[0]);
  const auto second = front_side(policy, policy.fronts[1]);

  EXPECT_EQ(first.workdirs.size(), 1U);
  EXPECT_TRUE(first.workdirs.contains("w"));
  EXPECT_EQ(second.workdirs.size(), 2U);  // an empty list grants all
}

TEST(FrontPolicy, IsReadOnlyWhereFrontOrWorkdirAre) {
  const auto policy = full_policy();

  EXPECT_TRUE(front_side(policy, policy.fronts[0]).workdirs.at("w").read_only);
  EXPECT_FALSE(front_side(policy, policy.fronts[1]).workdirs.at("w").read_only);
  EXPECT_TRUE(front_side(policy, policy.fronts[1]).workdirs.at("plain").read_only);
}

TEST(FrontPolicy, IsReadStrictly) {
  const auto code = [](const Json& document) { return code_of(front_policy_from_json(document)); };

  EXPECT_EQ(code(edited(front_json(), "/unknown", 1)), "CONFIG_INVALID");
  EXPECT_EQ(code(edited(front_json(), "/bridges/0/unknown", 1)), "CONFIG_INVALID");
  EXPECT_EQ(code(edited(front_json(), "/workdirs/0/path", "/srv/w")), "CONFIG_INVALID");
  EXPECT_EQ(code(edited(front_json(), "/version", 2)), "CONFIG_INVALID");
  EXPECT_EQ(code(edited(front_json(), "/bridges", Json::array())), "CONFIG_INVALID");
  EXPECT_EQ(code(edited(front_json(), "/bridges/1", front_json()["bridges"][0])), "CONFIG_INVALID");
  EXPECT_EQ(code(edited(front_json(), "/workdirs/1", front_json()["workdirs"][0])), "CONFIG_INVALID");
  for (const char* name : {"version", "digest", "bridges", "limits", "workdirs"}) {
    EXPECT_EQ(code(without(front_json(), "", name)), "CONFIG_INVALID") << name;
  }
  for (const char* name : {"name", "socket_path", "key_name", "key_file"}) {
    EXPECT_EQ(code(without(front_json(), "/bridges/0", name)), "CONFIG_INVALID") << name;
  }
  for (const char* name : {"alias", "description", "rules"}) {
    EXPECT_EQ(code(without(front_json(), "/workdirs/0", name)), "CONFIG_INVALID") << name;
  }
}

TEST(FrontPolicy, IsNotTheBridgesSide) {
  EXPECT_EQ(code_of(front_policy_from_json(full_json())), "CONFIG_INVALID");
  EXPECT_EQ(code_of(bridge_policy_from_json(front_json())), "CONFIG_INVALID");
}

TEST(SecretDetectionMode, HasThreeExactNames) {
  for (const auto mode : {SecretDetection::mask, SecretDetection::block, SecretDetection::off}) {
    EXPECT_EQ(value_of(parse_secret_detection(name_of(mode))), mode);
  }
  for (const char* name : {"", "Mask", "on", "true", "mask "})
    EXPECT_FALSE(parse_secret_detection(name)) << name;
}

TEST(FrontPolicy, HasOauthWholeOrNotAtAll) {
  auto policy = front_side(full_policy(), full_policy().fronts[0]);
  EXPECT_FALSE(value_of(front_policy_from_json(to_json(policy))).oauth);
  EXPECT_FALSE(value_of(front_policy_from_json(without(to_json(policy), "", "oauth"))).oauth);
  policy.oauth = OauthPolicy{.issuer = "https://login.example",
                             .resource = "https://front.example/mcp",
                             .jwks_file = "/keys",
                             .allowed_subjects = {"*"}};

  const auto again = value_of(front_policy_from_json(to_json(policy)));

  EXPECT_EQ(to_json(again), to_json(policy));
  EXPECT_EQ(code_of(front_policy_from_json(edited(to_json(policy), "/oauth/issuer", ""))), "CONFIG_INVALID");
  EXPECT_EQ(code_of(front_policy_from_json(edited(to_json(policy), "/oauth", "yes"))), "CONFIG_INVALID");
}

}  // namespace
}  // namespace repobridge::policy
