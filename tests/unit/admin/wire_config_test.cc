#include "bridge/wire/config.h"

#include "platform/digest.h"
#include "policy/json.h"
#include "scratch.h"

namespace repobridge::admin {
namespace {

using Config = Scratch;

policy::BridgePolicy bridge_policy() {
  policy::BridgePolicy bridge{.socket_path = "/run/b.sock", .state_dir = "/s", .lock_dir = "/l"};
  bridge.fronts.push_back({.name = "default", .key_file = "/k", .workdirs = {"demo"}});
  policy::Workdir workdir{.alias = "demo", .description = "grüße", .path = "/srv/demo"};
  workdir.rules = policy::PathRules::make({.extra_deny_globs = {"*.x"}}).value();
  workdir.push.url = policy::PushUrl::parse("git@example.org:a/b.git").value();
  policy::Action action{.name = "check", .argv = {"/bin/true"}, .max_output_bytes = 5};
  action.integrity.emplace(policy::RepoPath::parse("a").value(), policy::Pin{.digest = std::string(64, 'a')});
  workdir.actions.emplace("check", action);
  bridge.workdirs.emplace("demo", workdir);
  bridge.digest = platform::sha256_hex(policy::digest_input(bridge));
  return bridge;
}

TEST_F(Config, ReadsBackWhatWasRendered) {
  const auto written = bridge_policy();
  const auto front = policy::front_side(written, written.fronts[0]);

  const auto bridge =
      wire::load_bridge_policy(file("bridge.json", policy::dump_json(policy::to_json(written))));
  const auto read_front =
      wire::load_front_policy(file("front.json", policy::dump_json(policy::to_json(front))));

  ASSERT_TRUE(bridge) << bridge.error().message;
  EXPECT_EQ(policy::to_json(*bridge), policy::to_json(written));
  ASSERT_TRUE(read_front) << read_front.error().message;
  EXPECT_EQ(policy::to_json(*read_front), policy::to_json(front));
}

TEST_F(Config, NoticesAnEditByHand) {
  auto json = policy::to_json(bridge_policy());
  json["workdirs"][0]["read_only"] = false;

  const auto bridge = wire::load_bridge_policy(file("bridge.json", policy::dump_json(json)));

  ASSERT_FALSE(bridge);
  EXPECT_EQ(bridge.error().code, "CONFIG_INVALID");
  EXPECT_NE(bridge.error().message.find("run `repobridge render`"), std::string::npos);
}

TEST_F(Config, RefusesWhatIsNotOursAlone) {
  const auto text = policy::dump_json(policy::to_json(bridge_policy()));
  file("bridge.json", text);
  for (const auto& path : {at("missing"), link("link", "bridge.json"), file("open", text, 0666)}) {
    const auto bridge = wire::load_bridge_policy(path);
    ASSERT_FALSE(bridge);
    EXPECT_EQ(bridge.error().code, "CONFIG_UNREADABLE");
    EXPECT_NE(bridge.error().message.find("`repobridge render` writes it"), std::string::npos);
    EXPECT_EQ(bridge.error().message.find("/tmp"), std::string::npos);
  }
}

TEST_F(Config, RefusesOtherShapesAndNamesThePlace) {
  auto json = policy::to_json(bridge_policy());
  json["workdirs"][0]["more"] = 1;

  const auto bridge = wire::parse_bridge_policy(policy::dump_json(json));
  const auto twice = wire::parse_front_policy(R"({"version":1,"version":1})");

  ASSERT_FALSE(bridge);
  EXPECT_NE(bridge.error().message.find("'workdirs[0].more' is not known here"), std::string::npos);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("same key twice"), std::string::npos);
}

TEST_F(Config, HasABound) {
  const auto bridge = wire::load_bridge_policy(file("b", std::string(wire::kMaxConfigBytes + 1, ' ')));

  ASSERT_FALSE(bridge);
  EXPECT_EQ(bridge.error().code, "CONFIG_UNREADABLE");
}

}  // namespace
}  // namespace repobridge::admin
