#include "mcp/server.h"

#include <gtest/gtest.h>

#include "policy/codes.h"
#include "tests/unit/mcp/samples.h"

namespace repobridge::mcp {
namespace {

const ServerInfo kInfo{.name = "repobridge", .title = "Repobridge", .version = "9.9.9"};

RpcRequest asked(const std::string& method, Json params = Json::object()) {
  return RpcRequest{.id = 1, .method = method, .params = std::move(params)};
}

RpcRequest call(const Json& tool, const Json& arguments) {
  return asked("tools/call", Json{{"name", tool}, {"arguments", arguments}});
}

class FrontServer : public testing::Test {
 protected:
  Json result(const RpcRequest& request) const {
    const auto reply = server.answer(request, Rights::write);
    const auto* json = std::get_if<Json>(&reply);
    EXPECT_NE(json, nullptr) << request.params.dump();
    return json == nullptr ? Json() : *json;
  }
  int error(const RpcRequest& request) const {
    const auto reply = server.answer(request, Rights::write);
    const auto* rpc = std::get_if<RpcError>(&reply);
    EXPECT_NE(rpc, nullptr) << request.params.dump();
    return rpc == nullptr ? 0 : rpc->code;
  }
  // The error object of a call that the front itself refuses.
  Json refusal(const RpcRequest& request) const {
    const Json refused = result(request);
    EXPECT_EQ(refused.value("isError", false), true);
    EXPECT_FALSE(refused.contains("structuredContent"));
    return Json::parse(refused["content"][0]["text"].get<std::string>())["error"];
  }

  Server server{sample_policy(), kInfo};
};

TEST_F(FrontServer, AnswersPingWithNothing) { EXPECT_EQ(result(asked("ping")), Json::object()); }

TEST_F(FrontServer, ListsAllToolsOnOnePage) {
  const Json listed = result(asked("tools/list"));

  EXPECT_EQ(listed["tools"].size(), 4U);
  EXPECT_FALSE(listed.contains("nextCursor"));
}

TEST_F(FrontServer, RefusesACursorThatItNeverGave) {
  for (const Json& cursor : {Json("x"), Json(""), Json(1), Json()}) {
    EXPECT_EQ(error(asked("tools/list", Json{{"cursor", cursor}})), RpcError::kInvalidParams);
  }
}

TEST_F(FrontServer, HasNoToolsWithoutWorkdirs) {
  policy::FrontPolicy none = sample_policy();
  none.workdirs.clear();
  const Server bare(none, kInfo);

  const auto listed = bare.answer(asked("tools/list"), Rights::write);
  const auto called = bare.answer(call("inspect_repo", Json{{"view", "workdirs"}}), Rights::write);

  EXPECT_EQ(std::get<Json>(listed)["tools"], Json::array());
  EXPECT_EQ(std::get<RpcError>(called).code, RpcError::kInvalidParams);
}

TEST_F(FrontServer, RefusesAnUnknownToolAsAProtocolError) {
  for (const Json& name : {Json("exec"), Json("inspect_repo "), Json(""), Json(7), Json()}) {
    EXPECT_EQ(error(call(name, Json::object())), RpcError::kInvalidParams) << name;
  }
  EXPECT_EQ(error(asked("tools/call")), RpcError::kInvalidParams);
}

TEST_F(FrontServer, RefusesArgumentsThatAreNoObject) {
  for (const Json& arguments : {Json::array(), Json("x"), Json()}) {
    EXPECT_EQ(error(call("push_repo", arguments)), RpcError::kInvalidParams) << arguments;
  }
}

TEST_F(FrontServer, RefusesAnUnknownArgumentByName) {
  for (const auto* name : {"force", "remote", "ref", "commit", "workflow", "argv", "env", "cwd"}) {
    const Json refused = refusal(call("push_repo", Json{{"workdir", "app"}, {name, true}}));
    EXPECT_EQ(refused["code"], "INVALID_ARGUMENT") << name;
    EXPECT_EQ(refused["details"]["argument"], name);
  }
}

TEST_F(FrontServer, RefusesWhatPolicyLetsItRefuse) {
  EXPECT_EQ(refusal(call("push_repo", Json{{"workdir", "nope"}}))["code"], "WORKDIR_NOT_FOUND");
  EXPECT_EQ(refusal(call("push_repo", Json{{"workdir", "docs"}}))["code"], "WORKDIR_READ_ONLY");
  EXPECT_EQ(
      refusal(call("inspect_repo", Json{{"workdir", "app"}, {"view", "diff"}, {"paths", {".env"}}}))["code"],
      "DENIED_PATH");
}

TEST_F(FrontServer, BoundsItsOwnRefusals) {
  const std::string long_name(500'000, 'x');

  const auto refused = result(call("push_repo", Json{{"workdir", "app"}, {long_name, true}}));

  EXPECT_LT(refused.dump().size(), 110'000U);
}

TEST_F(FrontServer, PassesOnWhatItHasNothingAgainst) {
  const Json arguments{{"workdir", "app"}, {"view", "status"}};

  auto reply = server.answer(call("inspect_repo", arguments), Rights::write);

  const auto& passed = std::get<PassedCall>(reply);
  EXPECT_EQ(passed.tool, "inspect_repo");
  EXPECT_EQ(passed.arguments, arguments);
  EXPECT_EQ(passed.progress_token, std::nullopt);
  EXPECT_EQ(passed.era, Era::legacy);
}

TEST_F(FrontServer, LetsACallerThatMayLookOnlyDoJustThat) {
  const auto look = call("inspect_repo", Json{{"workdir", "app"}, {"view", "status"}});
  const auto push = call("push_repo", Json{{"workdir", "app"}});

  EXPECT_TRUE(std::holds_alternative<PassedCall>(server.answer(look, Rights::look)));
  const auto refused = std::get<Json>(server.answer(push, Rights::look));
  const auto error = Json::parse(refused["content"][0]["text"].get<std::string>())["error"];
  EXPECT_EQ(error["code"], policy::codes::kCallerReadOnly.name);
}

TEST_F(FrontServer, ReadsTheProgressTokenOfACall) {
  RpcRequest request = call("push_repo", Json{{"workdir", "app"}});
  request.params["_meta"] = Json{{"progressToken", "t"}};

  EXPECT_EQ(std::get<PassedCall>(server.answer(request, Rights::write)).progress_token, Json("t"));

  request.params["_meta"]["progressToken"] = 1.5;
  EXPECT_EQ(error(request), RpcError::kInvalidParams);
}

TEST_F(FrontServer, ShowsASuccessInBothForms) {
  const Json body{{"status", 200}, {"data", {{"clean", true}}}};

  const Json shown = server.call_result(Era::legacy, wire::Outcome{.is_error = false, .body = body});

  EXPECT_EQ(shown["structuredContent"], body);
  EXPECT_EQ(Json::parse(shown["content"][0]["text"].get<std::string>()), body);
  EXPECT_EQ(shown["isError"], false);
}

TEST_F(FrontServer, ShowsAnErrorOfTheBridgeAsTextAlone) {
  const Json body{{"error", {{"code", "WORKDIR_BUSY"}}}};

  const Json shown = server.call_result(Era::legacy, wire::Outcome{.is_error = true, .body = body});

  EXPECT_EQ(shown["isError"], true);
  EXPECT_EQ(shown["content"].size(), 1U);
  EXPECT_EQ(Json::parse(shown["content"][0]["text"].get<std::string>()), body);
  EXPECT_FALSE(shown.contains("structuredContent"));
}

TEST_F(FrontServer, ShowsThatTheBridgeWasNotReached) {
  const Result<wire::Outcome> failed = policy::refuse(policy::codes::kBridgeUnavailable, "start it");

  const Json shown = server.call_result(Era::modern, failed);

  EXPECT_EQ(shown["resultType"], "complete");
  const Json error = Json::parse(shown["content"][0]["text"].get<std::string>())["error"];
  EXPECT_EQ(error, (Json{{"status", 503},
                         {"kind", "unavailable"},
                         {"code", "BRIDGE_UNAVAILABLE"},
                         {"message", "start it"}}));
}

}  // namespace
}  // namespace repobridge::mcp
