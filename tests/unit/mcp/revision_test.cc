#include "mcp/revision.h"

#include <gtest/gtest.h>

namespace repobridge::mcp {
namespace {

const ServerInfo kInfo{.name = "repobridge", .title = "Repobridge", .version = "9.9.9"};

Json envelope(const Json& version) {
  return Json{{"io.modelcontextprotocol/protocolVersion", version},
              {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
}

RpcRequest asked(const std::string& method, Json params = Json::object()) {
  return RpcRequest{.id = 1, .method = method, .params = std::move(params)};
}

RpcRequest modern(const std::string& method) {
  return asked(method, Json{{"_meta", envelope("2026-07-28")}});
}

int refusal(const RpcRequest& request) {
  const auto decision = decide(request);
  EXPECT_FALSE(decision.has_value()) << request.method << " " << request.params.dump();
  return decision ? 0 : decision.error().code;
}

TEST(Revision, TakesARequestWithoutAnEnvelopeForLegacy) {
  for (const auto* method : {"initialize", "ping", "tools/list", "tools/call"}) {
    const auto decision = decide(asked(method));
    ASSERT_TRUE(decision.has_value()) << method;
    EXPECT_EQ(decision->era, Era::legacy) << method;
  }
}

TEST(Revision, TakesARequestWithAnEnvelopeForModern) {
  for (const auto* method : {"server/discover", "tools/list", "tools/call"}) {
    const auto decision = decide(modern(method));
    ASSERT_TRUE(decision.has_value()) << method;
    EXPECT_EQ(decision->era, Era::modern) << method;
  }
}

TEST(Revision, TakesOtherMetaKeysForNoEnvelope) {
  const Json params{{"_meta",
                     {{"progressToken", 1},
                      {"io.modelcontextprotocol/clientCapabilities", Json::object()},
                      {"io.modelcontextprotocol/clientInfo", Json::object()}}}};

  EXPECT_EQ(decide(asked("tools/list", params))->era, Era::legacy);
  EXPECT_EQ(refusal(asked("server/discover", params)), RpcError::kMethodNotFound);
}

TEST(Revision, KnowsEachMethodOnlyInItsEra) {
  EXPECT_EQ(refusal(asked("server/discover")), RpcError::kMethodNotFound);
  for (const auto* removed : {"initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/get",
                              "subscriptions/listen", "prompts/list", "resources/list", "foo/bar", ""}) {
    EXPECT_EQ(refusal(modern(removed)), RpcError::kMethodNotFound) << removed;
  }
  for (const auto* undeclared :
       {"logging/setLevel", "prompts/list", "resources/list", "completion/complete"}) {
    EXPECT_EQ(refusal(asked(undeclared)), RpcError::kMethodNotFound) << undeclared;
  }
}

TEST(Revision, RefusesAMalformedEnvelope) {
  Json without_capabilities = envelope("2026-07-28");
  without_capabilities.erase("io.modelcontextprotocol/clientCapabilities");
  Json list_of_capabilities = envelope("2026-07-28");
  list_of_capabilities["io.modelcontextprotocol/clientCapabilities"] = Json::array();
  Json nameless_client = envelope("2026-07-28");
  nameless_client["io.modelcontextprotocol/clientInfo"] = "curl";
  for (const Json& meta :
       {without_capabilities, list_of_capabilities, nameless_client, envelope(20260728), envelope(nullptr)}) {
    EXPECT_EQ(refusal(asked("tools/list", Json{{"_meta", meta}})), RpcError::kInvalidParams) << meta.dump();
  }
  EXPECT_EQ(refusal(asked("tools/list", Json{{"_meta", 1}})), RpcError::kInvalidParams);
}

TEST(Revision, LooksAtTheEnvelopesShapeBeforeItsVersion) {
  Json meta = envelope("2099-01-01");
  meta.erase("io.modelcontextprotocol/clientCapabilities");

  EXPECT_EQ(refusal(asked("tools/list", Json{{"_meta", meta}})), RpcError::kInvalidParams);
}

TEST(Revision, RefusesAnEnvelopeOfARevisionThatIsNotServed) {
  for (const auto* version : {"2099-01-01", "2025-11-25", "v999.0.0", ""}) {
    const auto decision = decide(asked("tools/list", Json{{"_meta", envelope(version)}}));
    ASSERT_FALSE(decision.has_value()) << version;
    EXPECT_EQ(decision.error().code, kUnsupportedRevision);
    EXPECT_EQ(decision.error().data, (Json{{"supported", {"2026-07-28"}}, {"requested", version}}));
  }
}

TEST(Revision, TakesInitializeForLegacyUnlessItsEnvelopeIsSoundAndModern) {
  Json malformed = envelope("2026-07-28");
  malformed.erase("io.modelcontextprotocol/clientCapabilities");
  for (const Json& meta : {malformed, envelope("2025-11-25"), envelope(7)}) {
    const auto decision = decide(asked("initialize", Json{{"_meta", meta}}));
    ASSERT_TRUE(decision.has_value()) << meta.dump();
    EXPECT_EQ(decision->era, Era::legacy);
  }
  EXPECT_EQ(refusal(modern("initialize")), RpcError::kMethodNotFound);
  EXPECT_EQ(refusal(asked("initialize", Json{{"_meta", envelope("2099-01-01")}})), kUnsupportedRevision);
}

TEST(Revision, EchoesARequestedLegacyRevisionAndOtherwiseAnswersTheNewest) {
  const auto answered = [](const char* requested) {
    return (*initialize_result(Json{{"protocolVersion", requested}}, kInfo, "text"))["protocolVersion"];
  };
  for (const auto* served : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    EXPECT_EQ(answered(served), served);
  }
  for (const auto* other : {"2024-10-07", "2026-07-28", "1999-01-01", "", "banana"}) {
    EXPECT_EQ(answered(other), "2025-11-25");
  }
}

TEST(Revision, RefusesInitializeThatNamesNoRevision) {
  for (const Json& params : {Json::object(), Json{{"protocolVersion", 1}}}) {
    const auto result = initialize_result(params, kInfo, "text");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, RpcError::kInvalidParams);
  }
}

TEST(Revision, DescribesTheServerInTheBodyOfInitialize) {
  const auto result = initialize_result(Json{{"protocolVersion", "2025-11-25"}}, kInfo, "text");

  EXPECT_EQ(*result,
            (Json{{"protocolVersion", "2025-11-25"},
                  {"capabilities", {{"tools", Json::object()}}},
                  {"serverInfo", {{"name", "repobridge"}, {"title", "Repobridge"}, {"version", "9.9.9"}}},
                  {"instructions", "text"}}));
}

TEST(Revision, DiscoversModernRevisionsOnlyAndDescribesTheServerInMeta) {
  const Json result = dressed(Era::modern, discover_result("text"), kInfo, Caching::brief);

  EXPECT_EQ(result["supportedVersions"], Json::array({"2026-07-28"}));
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_EQ(result["capabilities"], (Json{{"tools", Json::object()}}));
  EXPECT_EQ(result["instructions"], "text");
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"],
            (Json{{"name", "repobridge"}, {"version", "9.9.9"}}));
  EXPECT_FALSE(result.contains("serverInfo"));
  EXPECT_EQ(result["cacheScope"], "private");
  EXPECT_TRUE(result["ttlMs"].is_number_unsigned() || result["ttlMs"].get<int>() >= 0);
}

TEST(Revision, AddsNothingToALegacyResult) {
  EXPECT_EQ(dressed(Era::legacy, Json{{"tools", 1}}, kInfo, Caching::brief), (Json{{"tools", 1}}));
}

TEST(Revision, SaysHowLongToKeepAnAnswerOnlyWhereItMayBeKept) {
  const Json result = dressed(Era::modern, Json::object(), kInfo);

  EXPECT_FALSE(result.contains("ttlMs"));
  EXPECT_FALSE(result.contains("cacheScope"));
}

TEST(Revision, ReadsTheProgressTokenAsTyped) {
  const auto token = [](const Json& value) {
    return progress_token(Json{{"_meta", {{"progressToken", value}}}});
  };

  EXPECT_EQ(*token(0), Json(0));
  EXPECT_EQ(*token("0"), Json("0"));
  EXPECT_EQ(*progress_token(Json::object()), std::nullopt);
  EXPECT_EQ(token(1.5).error().code, RpcError::kInvalidParams);
  EXPECT_EQ(token(nullptr).error().code, RpcError::kInvalidParams);
}

TEST(Revision, ReadsTheCancelledIdAsTyped) {
  EXPECT_EQ(cancelled_id(Json{{"requestId", "1"}}), Json("1"));
  EXPECT_EQ(cancelled_id(Json{{"requestId", 1}}), Json(1));
  EXPECT_TRUE(cancelled_id(Json::object()).is_null());
}

RpcInput batch_of(const RpcItem& item) {
  return RpcInput{.batch = true, .items = {RpcRequest{.id = 0, .method = "ping"}, item}};
}

TEST(Revision, TakesBatchesUnderTheOneThatHasThem) {
  for (const RpcItem& item : {RpcItem(asked("tools/list")), RpcItem(RpcNotification{.method = "n"}),
                              RpcItem(RpcResponse{}), RpcItem(tl::unexpected(RpcFault{}))}) {
    EXPECT_EQ(batch_fault(batch_of(item), "2025-03-26"), std::nullopt);
    for (const auto* other : {"", "2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"}) {
      EXPECT_TRUE(batch_fault(batch_of(item), other).has_value()) << other;
    }
  }
}

TEST(Revision, RefusesBatchesOfWhatMustComeAlone) {
  const RpcNotification in_envelope{.method = "n", .params = Json{{"_meta", envelope("2026-07-28")}}};
  for (const RpcItem& item :
       {RpcItem(asked("initialize")), RpcItem(modern("tools/list")), RpcItem(in_envelope)}) {
    EXPECT_TRUE(batch_fault(batch_of(item), "2025-03-26").has_value());
  }
}

}  // namespace
}  // namespace repobridge::mcp
