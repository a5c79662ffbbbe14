#include "mcp/json_rpc.h"

#include <gtest/gtest.h>

namespace repobridge::mcp {
namespace {

RpcItem only_item(std::string_view line) {
  auto input = read_input(line);
  if (!input) return tl::unexpected<RpcFault>(std::move(input).error());
  EXPECT_FALSE(input->batch) << line;
  EXPECT_EQ(input->items.size(), 1U) << line;
  return std::move(input->items.front());
}

RpcRequest request(std::string_view line) {
  auto message = only_item(line);
  EXPECT_TRUE(message.has_value()) << line;
  if (!message || !std::holds_alternative<RpcRequest>(*message)) return {};
  return std::get<RpcRequest>(*message);
}

RpcFault fault(std::string_view line) {
  auto message = only_item(line);
  EXPECT_FALSE(message.has_value()) << line;
  return message ? RpcFault{} : message.error();
}

TEST(JsonRpc, ReadsARequestWithItsIdAsTyped) {
  EXPECT_EQ(request(R"({"jsonrpc":"2.0","id":"1","method":"ping"})").id, Json("1"));
  EXPECT_EQ(request(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").id, Json(1));
  EXPECT_EQ(request(R"({"jsonrpc":"2.0","id":-7,"method":"ping"})").id, Json(-7));
  EXPECT_NE(Json("1"), Json(1));
}

TEST(JsonRpc, KeepsAnIdThatAFloatWouldRound) {
  const auto id = request(R"({"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"})").id;

  EXPECT_EQ(policy::dump_json(result_message(id, Json::object())),
            R"({"id":18446744073709551615,"jsonrpc":"2.0","result":{}})");
}

TEST(JsonRpc, GivesARequestWithoutParamsAnEmptyObject) {
  EXPECT_EQ(request(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").params, Json::object());
  EXPECT_EQ(request(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1]}})").params["a"][0], 1);
}

TEST(JsonRpc, ReadsNotificationsAndResponses) {
  const auto notification = only_item(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  ASSERT_TRUE(notification.has_value());
  EXPECT_EQ(std::get<RpcNotification>(*notification).method, "notifications/initialized");
  for (const auto* line : {R"({"jsonrpc":"2.0","id":1,"result":{}})",
                           R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}})"}) {
    const auto response = only_item(line);
    ASSERT_TRUE(response.has_value()) << line;
    EXPECT_TRUE(std::holds_alternative<RpcResponse>(*response)) << line;
  }
}

TEST(JsonRpc, AnswersWhatIsNotJsonWithAParseErrorAndNoId) {
  for (const std::string_view line :
       {"nonsense", "{", R"({"jsonrpc":"2.0","id":1,"method":"ping"} x)", R"({"id":1,"id":2})", "\xFF\xFE",
        R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}})"}) {
    EXPECT_EQ(fault(line).error.code, RpcError::kParseError) << line;
    EXPECT_TRUE(fault(line).id.is_null()) << line;
  }
}

TEST(JsonRpc, RefusesNestingBeyondTheLimit) {
  const std::string deep = R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":)" +
                           std::string(100, '[') + std::string(100, ']') + "}}";

  EXPECT_EQ(fault(deep).error.code, RpcError::kParseError);
}

TEST(JsonRpc, ReadsABatchElementByElement) {
  const auto input =
      read_input(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},7,[],{"jsonrpc":"2.0","method":"n"}])");

  ASSERT_TRUE(input.has_value());
  EXPECT_TRUE(input->batch);
  ASSERT_EQ(input->items.size(), 4U);
  EXPECT_EQ(std::get<RpcRequest>(*input->items[0]).id, 1);
  for (const std::size_t wrong : {1U, 2U}) {
    ASSERT_FALSE(input->items[wrong].has_value());
    EXPECT_EQ(input->items[wrong].error().error.code, RpcError::kInvalidRequest);
  }
  EXPECT_EQ(std::get<RpcNotification>(*input->items[3]).method, "n");
}

TEST(JsonRpc, BoundsABatch) {
  const auto batch_of = [](std::size_t count) {
    Json batch = Json::array();
    for (std::size_t n = 0; n < count; ++n) {
      batch.push_back(Json{{"jsonrpc", "2.0"}, {"id", n}, {"method", "ping"}});
    }
    return read_input(batch.dump());
  };
  ASSERT_TRUE(batch_of(1).has_value());
  EXPECT_TRUE(batch_of(1)->batch);
  ASSERT_TRUE(batch_of(kMostInBatch).has_value());
  for (const std::size_t wrong : {std::size_t{0}, kMostInBatch + 1}) {
    ASSERT_FALSE(batch_of(wrong).has_value());
    EXPECT_EQ(batch_of(wrong).error().error.code, RpcError::kInvalidRequest);
  }
}

TEST(JsonRpc, RefusesWhatIsNoObject) {
  for (const auto* line : {"[]", "1", "\"ping\"", "null"}) {
    EXPECT_EQ(fault(line).error.code, RpcError::kInvalidRequest) << line;
    EXPECT_TRUE(fault(line).id.is_null()) << line;
  }
}

TEST(JsonRpc, RefusesIdsOfOtherTypes) {
  for (const auto* id : {"null", "1.5", "1.0", "1e3", "true", "[1]", "{}"}) {
    const std::string line = std::string(R"({"jsonrpc":"2.0","method":"ping","id":)") + id + "}";
    EXPECT_EQ(fault(line).error.code, RpcError::kInvalidRequest) << id;
    EXPECT_TRUE(fault(line).id.is_null()) << id;
  }
}

TEST(JsonRpc, RepeatsTheIdOfARequestThatIsWrongOtherwise) {
  for (const auto* line :
       {R"({"id":5,"method":"ping"})", R"({"jsonrpc":"1.0","id":5,"method":"ping"})",
        R"({"jsonrpc":2.0,"id":5,"method":"ping"})", R"({"jsonrpc":"2.0","id":5})",
        R"({"jsonrpc":"2.0","id":5,"method":7})", R"({"jsonrpc":"2.0","id":5,"method":"ping","params":[1]})",
        R"({"jsonrpc":"2.0","id":5,"method":"ping","params":null})"}) {
    EXPECT_EQ(fault(line).error.code, RpcError::kInvalidRequest) << line;
    EXPECT_EQ(fault(line).id, Json(5)) << line;
  }
}

TEST(JsonRpc, WritesErrorsWithTheirDataOnlyWhenThereIsSome) {
  EXPECT_EQ(policy::dump_json(error_message("a", {.code = -32601, .message = "m"})),
            R"({"error":{"code":-32601,"message":"m"},"id":"a","jsonrpc":"2.0"})");
  EXPECT_EQ(policy::dump_json(error_message(nullptr, {.code = -1, .message = "m", .data = Json{{"k", 1}}})),
            R"({"error":{"code":-1,"data":{"k":1},"message":"m"},"id":null,"jsonrpc":"2.0"})");
}

TEST(JsonRpc, WritesNotificationsWithoutAnId) {
  EXPECT_EQ(policy::dump_json(notification_message("notifications/progress", Json{{"progress", 1}})),
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}})");
}

}  // namespace
}  // namespace repobridge::mcp
