#include "policy/actions.h"

#include <gtest/gtest.h>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::argument_of;
using tests::code_of;
using tests::message_of;
using tests::value_of;

const std::string kDigest(64, 'a');
constexpr const char* kVariable = "WORKDIR_01_REPO_ACTIONS_JSON";

Json sound() {
  return Json{{"argv", {"python3", "check.py"}}, {"mutates", false}, {"integrity", {{"check.py", kDigest}}}};
}

Result<Actions> read(const Json& action, Digests digests = Digests::required) {
  return actions_from_json(Json{{"check", action}}, kVariable, digests);
}

Result<Actions> with(const char* field, Json value) {
  auto action = sound();
  action[field] = std::move(value);
  return read(action);
}

Result<Actions> without(const char* field) {
  auto action = sound();
  action.erase(field);
  return read(action);
}

// A refusal of one field names the variable and the field.
void expect_refused(const Result<Actions>& actions, const std::string& field) {
  EXPECT_EQ(code_of(actions), "CONFIG_INVALID");
  EXPECT_EQ(argument_of(actions), "check." + field);
  EXPECT_TRUE(message_of(actions).starts_with(std::string(kVariable) + ": ")) << message_of(actions);
  EXPECT_NE(message_of(actions).find("'check." + field + "'"), std::string::npos) << message_of(actions);
}

TEST(Actions, HaveDefaultsForWhatIsNotSaid) {
  const auto actions = value_of(read(sound()));

  const auto& action = actions.at("check");
  EXPECT_EQ(action.name, "check");
  EXPECT_EQ(action.argv, (std::vector<std::string>{"python3", "check.py"}));
  EXPECT_EQ(action.argument, ActionArgument::none);
  EXPECT_FALSE(action.mutates);
  EXPECT_EQ(action.integrity.at(value_of(RepoPath::parse("check.py"))), Pin{.digest = kDigest});
  EXPECT_EQ(action.timeout, std::nullopt);
  EXPECT_EQ(action.max_output_bytes, 1U << 20U);
  EXPECT_EQ(action.description, std::nullopt);
}

TEST(Actions, HoldWhatIsSaid) {
  auto action = sound();
  action.update({{"kind", "command"},
                 {"argument", "path"},
                 {"mutates", true},
                 {"timeout_seconds", 5},
                 {"max_output_bytes", 4096},
                 {"description", "checks"},
                 {"env", {{"MODE", "fast"}, {"HOME", ""}}},
                 {"env_passthrough", {"CC", "_x9"}}});

  const auto actions = value_of(read(action));

  EXPECT_EQ(actions.at("check").argument, ActionArgument::path);
  EXPECT_TRUE(actions.at("check").mutates);
  EXPECT_EQ(actions.at("check").timeout, std::chrono::seconds(5));
  EXPECT_EQ(actions.at("check").max_output_bytes, 4096U);
  EXPECT_EQ(actions.at("check").description, "checks");
  EXPECT_EQ(actions.at("check").env, (std::map<std::string, std::string>{{"HOME", ""}, {"MODE", "fast"}}));
  EXPECT_EQ(actions.at("check").env_passthrough, (std::vector<std::string>{"CC", "_x9"}));
}

TEST(Actions, TakeNamesOfVariablesThatAreNotTheBridges) {
  for (const char* name : {"A", "a_1", "_", "GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE", "BASH_ENV", "LDFLAGS"}) {
    EXPECT_EQ(code_of(with("env", Json{{name, "v"}})), "OK") << name;
    EXPECT_EQ(code_of(with("env_passthrough", Json::array({name}))), "OK") << name;
  }
  for (const char* name : {"", "1A", "A B", "A=B", "A-B", "\xC3\xA4", "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH",
                           "GLIBC_TUNABLES", "GIT_CONFIG_COUNT", "GIT_DIR", "GIT_WORK_TREE",
                           "GIT_SSH_COMMAND", "RB_RUN_ID", "REPOBRIDGE_KEY_FILE"}) {
    expect_refused(with("env", Json{{name, "v"}}), "env");
    expect_refused(with("env_passthrough", Json::array({name})), "env_passthrough");
  }
  expect_refused(with("env", Json{{std::string(257, 'a'), "v"}}), "env");
}

TEST(Actions, BoundTheirEnvironment) {
  const auto filled = [](int count, std::size_t size) {
    Json env = Json::object();
    for (int i = 0; i < count; ++i) env["V" + std::to_string(i)] = std::string(size - 4, 'x');
    return env;
  };
  EXPECT_EQ(code_of(with("env", filled(4, kMaxVariableBytes))), "OK");
  expect_refused(with("env", filled(5, kMaxVariableBytes)), "env");
  expect_refused(with("env", filled(1, kMaxVariableBytes + 1)), "env");
  expect_refused(with("env", Json{{"A", std::string("a\0b", 3)}}), "env");
  for (const auto& value : {Json(1), Json(nullptr), Json::array({"a"})}) {
    expect_refused(with("env", Json{{"A", value}}), "env");
  }
  expect_refused(with("env", Json::array({"A=b"})), "env");
  expect_refused(with("env_passthrough", Json::array({"A", "A"})), "env_passthrough");
  expect_refused(with("env_passthrough", "A"), "env_passthrough");
  expect_refused(with("env_passthrough", Json(std::vector<std::string>(257, "A"))), "env_passthrough");
}

TEST(Actions, SetAVariableInOnePlace) {
  auto action = sound();
  action.update({{"env", {{"A", "v"}}}, {"env_passthrough", {"A"}}});
  expect_refused(read(action), "env_passthrough");
}

TEST(Actions, AreReadBackAsTheyWereWritten) {
  auto action = sound();
  action.update({{"argument", "path"}, {"description", "d"}, {"timeout_seconds", 7}});
  action.update({{"env", {{"A", "v"}}}, {"env_passthrough", {"B"}}});
  action["integrity"]["\"caf\\351\""] = kDigest;
  const auto actions = value_of(read(action));

  const auto again = value_of(actions_from_json(to_json(actions), kVariable, Digests::required));

  EXPECT_EQ(to_json(again), to_json(actions));
  EXPECT_EQ(again.at("check").integrity, actions.at("check").integrity);
}

TEST(Actions, MustPinSomething) {
  expect_refused(without("integrity"), "integrity");
  expect_refused(with("integrity", Json::object()), "integrity");
  expect_refused(with("integrity", nullptr), "integrity");
  expect_refused(with("integrity", Json::array()), "integrity");
}

TEST(Actions, TakeOnlyADigestInLowerCase) {
  for (const auto& digest :
       {Json(""), Json(std::string(63, 'a')), Json(std::string(65, 'a')), Json(std::string(64, 'A')),
        Json(std::string(63, 'a') + "g"), Json("sha256:" + kDigest), Json(" " + kDigest), Json(nullptr),
        Json(1), Json(Json::array())}) {
    const auto actions = with("integrity", Json{{"check.py", digest}});

    EXPECT_EQ(code_of(actions), "CONFIG_INVALID") << digest;
    EXPECT_EQ(argument_of(actions), "check.integrity");
    EXPECT_EQ(tests::detail_of(actions, "path"), "check.py");
  }
}

TEST(Actions, TakePlaceholdersOnlyWhereTheyAreStillToBePasted) {
  auto action = sound();
  action["integrity"] = {{"check.py", ""}, {"other.py", "?"}};

  EXPECT_EQ(code_of(read(action, Digests::placeholders_allowed)), "OK");
  EXPECT_EQ(code_of(read(action, Digests::required)), "CONFIG_INVALID");
  action["integrity"] = {{"check.py", 1}};
  EXPECT_EQ(code_of(read(action, Digests::placeholders_allowed)), "CONFIG_INVALID");
}

TEST(Actions, PinOnlyPathsInsideTheWorkdir) {
  for (const char* path : {"../elsewhere.py", "/etc/passwd", ".git/config", "", "a//b", "~/x"}) {
    const auto actions = with("integrity", Json{{path, kDigest}});

    EXPECT_EQ(code_of(actions), "CONFIG_INVALID") << path;
    EXPECT_EQ(argument_of(actions), "check.integrity");
  }
}

TEST(Actions, PinEachFileOnce) {
  const auto actions = with("integrity", Json{{"check.py", kDigest}, {"\"check.py\"", std::string(64, 'b')}});

  EXPECT_EQ(code_of(actions), "CONFIG_INVALID");
  EXPECT_EQ(argument_of(actions), "check.integrity");
}

TEST(Actions, PinUpToTheLimitAndNotOneMore) {
  Json pins = Json::object();
  for (std::size_t i = 0; i < kMaxPins; ++i) pins["f" + std::to_string(i)] = kDigest;

  EXPECT_EQ(code_of(with("integrity", pins)), "OK");
  pins["one more"] = kDigest;
  expect_refused(with("integrity", pins), "integrity");
}

TEST(Actions, BeginTheirArgumentsWithAProgram) {
  expect_refused(without("argv"), "argv");
  expect_refused(with("argv", Json::array()), "argv");
  expect_refused(with("argv", {""}), "argv");
  expect_refused(with("argv", "python3 check.py"), "argv");
  expect_refused(with("argv", {"python3", 1}), "argv");
  expect_refused(with("argv", {"python3", nullptr}), "argv");
  EXPECT_EQ(code_of(with("argv", {"python3", ""})), "OK");
}

TEST(Actions, TakeArgumentsUpToTheirLimitsAndNotOneMore) {
  const auto argv = [](std::size_t count, std::size_t bytes) {
    return std::vector<std::string>(count, std::string(bytes, 'x'));
  };

  EXPECT_EQ(code_of(with("argv", argv(256, 1))), "OK");
  expect_refused(with("argv", argv(257, 1)), "argv");
  EXPECT_EQ(code_of(with("argv", argv(1, 32768))), "OK");
  expect_refused(with("argv", argv(1, 32769)), "argv");
  EXPECT_EQ(code_of(with("argv", argv(4, 32767))), "OK");  // 4 * (32767 + 1) = 131072
  expect_refused(with("argv", argv(4, 32768)), "argv");
  expect_refused(with("argv", {"a", std::string("b\0c", 3)}), "argv");
}

TEST(Actions, SayWhetherTheyMutate) {
  expect_refused(without("mutates"), "mutates");
  for (const auto& value : {Json(0), Json("false"), Json(nullptr)})
    expect_refused(with("mutates", value), "mutates");
}

TEST(Actions, KnowNoOtherKindAndNoOtherArgument) {
  expect_refused(with("kind", "shell"), "kind");
  expect_refused(with("kind", "Command"), "kind");
  expect_refused(with("kind", 1), "kind");
  expect_refused(with("argument", "args"), "argument");
  expect_refused(with("argument", "PATH"), "argument");
  expect_refused(with("argument", true), "argument");
}

TEST(Actions, KnowNoOtherField) {
  for (const char* field : {"cwd", "shell", "timeout", "integritty", ""}) {
    const auto actions = with(field, "x");

    EXPECT_EQ(code_of(actions), "CONFIG_INVALID") << field;
    EXPECT_NE(message_of(actions).find("is not known here"), std::string::npos) << field;
  }
}

TEST(Actions, KeepTheirTimeWithinWhatACallWaits) {
  EXPECT_EQ(code_of(with("timeout_seconds", 1)), "OK");
  EXPECT_EQ(code_of(with("timeout_seconds", kMaxActionTimeout.count())), "OK");
  for (const auto& value : {Json(0), Json(-1), Json(kMaxActionTimeout.count() + 1), Json(1.5), Json("5")}) {
    expect_refused(with("timeout_seconds", value), "timeout_seconds");
  }
}

TEST(Actions, KeepTheirOutputWithinBounds) {
  EXPECT_EQ(code_of(with("max_output_bytes", 1)), "OK");
  EXPECT_EQ(code_of(with("max_output_bytes", 16 << 20)), "OK");
  for (const auto& value : {Json(0), Json((16 << 20) + 1), Json(1e3)}) {
    expect_refused(with("max_output_bytes", value), "max_output_bytes");
  }
}

TEST(Actions, DescribeThemselvesInAKilobyte) {
  EXPECT_EQ(code_of(with("description", std::string(1024, 'd'))), "OK");
  expect_refused(with("description", std::string(1025, 'd')), "description");
}

TEST(Actions, HavePlainNames) {
  const auto named = [](const std::string& name) {
    return code_of(actions_from_json(Json{{name, sound()}}, kVariable, Digests::required));
  };

  for (const std::string& name :
       {std::string("a"), std::string("9"), std::string("Check.unit-tests_2"), std::string(64, 'n')}) {
    EXPECT_EQ(named(name), "OK") << name;
  }
  for (const std::string& name : {std::string(), std::string(65, 'n'), std::string("-a"), std::string(".a"),
                                  std::string("_a"), std::string("a b"), std::string("a/b"),
                                  std::string("a\n"), std::string("caf\xC3\xA9"), std::string("a\0", 2)}) {
    EXPECT_EQ(named(name), "CONFIG_INVALID") << name;
  }
}

TEST(Actions, AreUpToTheLimitAndNotOneMore) {
  Json all = Json::object();
  for (int i = 0; i < 64; ++i) all["a" + std::to_string(i)] = sound();

  EXPECT_EQ(value_of(actions_from_json(all, kVariable, Digests::required)).size(), 64U);
  all["one-more"] = sound();
  EXPECT_EQ(code_of(actions_from_json(all, kVariable, Digests::required)), "CONFIG_INVALID");
}

TEST(Actions, MayBeNone) { EXPECT_TRUE(value_of(parse_actions("{}", kVariable, Digests::required)).empty()); }

TEST(Actions, AreParsedFromStrictJson) {
  const auto code = [](std::string_view text) {
    return code_of(parse_actions(text, kVariable, Digests::required));
  };

  EXPECT_EQ(code(""), "CONFIG_INVALID");
  EXPECT_EQ(code("[]"), "CONFIG_INVALID");
  EXPECT_EQ(code("{} # comment"), "CONFIG_INVALID");
  EXPECT_EQ(code(R"({"a":1,"a":2})"), "CONFIG_INVALID");
  EXPECT_EQ(code(R"({"a":1})"), "CONFIG_INVALID");
}

TEST(Actions, SayWhereTheirJsonIsBroken) {
  const auto message = message_of(parse_actions("{\"a\": oops}", kVariable, Digests::required));

  EXPECT_EQ(message, std::string(kVariable) + ": the text is not valid JSON (at byte 7)");
}

// One bad profile stops everything; nothing is accepted by half.
TEST(Actions, AreRefusedAllForOne) {
  auto bad = sound();
  bad.erase("integrity");

  EXPECT_EQ(code_of(actions_from_json(Json{{"good", sound()}, {"zbad", bad}}, kVariable, Digests::required)),
            "CONFIG_INVALID");
}

TEST(Sha256Hex, IsSixtyFourLowerCaseDigits) {
  EXPECT_TRUE(is_sha256_hex("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_sha256_hex("0123456789abcdeF0123456789abcdef0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_sha256_hex(std::string(64, '\0')));
}

}  // namespace
}  // namespace repobridge::policy
