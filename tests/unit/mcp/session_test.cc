#include "mcp/session.h"

#include <gtest/gtest.h>

#include <deque>

#include "policy/codes.h"
#include "tests/unit/mcp/samples.h"

namespace repobridge::mcp {
namespace {

using std::chrono::milliseconds;

struct StartedCall {
  wire::Request request;
  CallHandlers handlers;
  int cancels = 0;
};

class FrontSession : public testing::Test {
 protected:
  void receive(const Json& message) { session.receive(Line{.text = message.dump()}); }
  void call(const Json& id, const Json& token = nullptr) {
    Json params{{"name", "inspect_repo"}, {"arguments", {{"view", "workdirs"}}}};
    if (!token.is_null()) params["_meta"] = Json{{"progressToken", token}};
    receive(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", params}});
  }
  void cancel(const Json& id) {
    receive(Json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}});
  }
  void succeed(std::size_t index) {
    started.at(index).handlers.ended(wire::Outcome{.is_error = false, .body = Json{{"status", 200}}});
  }

  std::vector<Json> sent;
  std::deque<StartedCall> started;
  std::vector<std::string> reported;
  Server server{sample_policy(), {.name = "repobridge", .title = "Repobridge", .version = "9.9.9"}};
  Session session{
      {.server = server,
       .caller = {.login = "someone", .mode = "stdio"},
       .send = [this](const std::string& line) { sent.push_back(Json::parse(line)); },
       .start_call =
           [this](wire::Request request, CallHandlers handlers) {
             auto& one = started.emplace_back(StartedCall{std::move(request), std::move(handlers)});
             return [&one] { ++one.cancels; };
           },
       .report = [this](const Error& error) { reported.push_back(error.code); }}};
};

TEST_F(FrontSession, AnswersRequestsUnderTheirId) {
  receive(Json{{"jsonrpc", "2.0"}, {"id", "p"}, {"method", "ping"}});

  EXPECT_EQ(sent, (std::vector<Json>{Json{{"jsonrpc", "2.0"}, {"id", "p"}, {"result", Json::object()}}}));
}

TEST_F(FrontSession, NeverAnswersNotificationsAndResponses) {
  receive(Json{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  receive(Json{{"jsonrpc", "2.0"}, {"method", "no/such"}});
  receive(Json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", Json::object()}});
  cancel(99);

  EXPECT_TRUE(sent.empty());
}

TEST_F(FrontSession, AnswersALineThatIsTooLongWithoutAnId) {
  session.receive(Line{.too_long = true});

  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0]["error"]["code"], RpcError::kInvalidRequest);
  EXPECT_TRUE(sent[0]["id"].is_null());
}

TEST_F(FrontSession, AsksTheBridgeInTheCallersName) {
  call(1);

  ASSERT_EQ(started.size(), 1U);
  const wire::Request& request = started[0].request;
  EXPECT_EQ(request.tool, "inspect_repo");
  EXPECT_EQ(request.arguments, (Json{{"view", "workdirs"}}));
  EXPECT_EQ(request.caller.login, "someone");
  EXPECT_EQ(request.caller.mode, "stdio");
  EXPECT_EQ(request.id.size(), 32U);
}

TEST_F(FrontSession, GivesEachCallAnIdOfItsOwn) {
  call(1);
  call(2);

  EXPECT_NE(started[0].request.id, started[1].request.id);
}

TEST_F(FrontSession, AnswersCallsAsTheyEndAndPingMeanwhile) {
  call(1);
  call("1");
  receive(Json{{"jsonrpc", "2.0"}, {"id", 3}, {"method", "ping"}});
  succeed(1);
  succeed(0);

  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0]["id"], 3);
  EXPECT_EQ(sent[1]["id"], "1");
  EXPECT_EQ(sent[2]["id"], 1);
  EXPECT_EQ(sent[2]["result"]["structuredContent"]["status"], 200);
}

TEST_F(FrontSession, RefusesAnIdThatIsStillAtWork) {
  call(1);
  call(1);
  receive(Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}});

  EXPECT_EQ(started.size(), 1U);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0]["error"]["code"], RpcError::kInvalidRequest);
  EXPECT_EQ(sent[1]["error"]["code"], RpcError::kInvalidRequest);

  succeed(0);
  call(1);
  EXPECT_EQ(started.size(), 2U);
}

TEST_F(FrontSession, PassesACancelOnAndAnswersNoMore) {
  call(1);
  cancel(1);
  cancel(1);
  succeed(0);

  EXPECT_EQ(started[0].cancels, 1);
  EXPECT_TRUE(sent.empty());
}

TEST_F(FrontSession, ReportsNothingAboutACallThatNobodyWaitsFor) {
  call(1);
  cancel(1);
  started[0].handlers.ended(policy::refuse(policy::codes::kCallCancelled, "cancelled"));

  EXPECT_TRUE(reported.empty());
  EXPECT_TRUE(sent.empty());
}

TEST_F(FrontSession, DoesNotTakeAnIdOfAnotherTypeForTheSame) {
  call(1);
  cancel("1");
  succeed(0);

  EXPECT_EQ(started[0].cancels, 0);
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(FrontSession, TellsProgressUnderTheTokenAndOnlyForwards) {
  call(1, "token");
  for (const int elapsed : {1500, 1500, 1000, 7250}) started[0].handlers.progress({.elapsed_ms = elapsed});
  succeed(0);

  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0], (Json{{"jsonrpc", "2.0"},
                           {"method", "notifications/progress"},
                           {"params",
                            {{"progressToken", "token"},
                             {"progress", 1.5},
                             {"message", "inspect_repo is at work for 1 s"}}}}));
  EXPECT_EQ(sent[1]["params"]["progress"], 7.25);
  EXPECT_EQ(sent[2]["id"], 1);
}

TEST_F(FrontSession, TellsHowMuchARunHasPrinted) {
  call(1, "token");
  started[0].handlers.progress({.elapsed_ms = 2000, .output_bytes = 17});

  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0]["params"]["message"], "inspect_repo is at work for 2 s, 17 bytes printed");
}

TEST_F(FrontSession, TellsNoProgressUnasked) {
  call(1);
  started[0].handlers.progress({.elapsed_ms = 1500});

  EXPECT_TRUE(sent.empty());
}

TEST_F(FrontSession, TellsNoProgressOfACancelledOrEndedCall) {
  call(1, 1);
  cancel(1);
  started[0].handlers.progress({.elapsed_ms = 1500});
  call(2, 2);
  succeed(1);
  started[1].handlers.progress({.elapsed_ms = 1500});

  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0]["id"], 2);
}

TEST_F(FrontSession, ReportsAFailedCallOnceAndAnswersIt) {
  call(1);
  started[0].handlers.ended(policy::refuse(policy::codes::kBridgeUnavailable, "start it"));

  EXPECT_EQ(reported, (std::vector<std::string>{"BRIDGE_UNAVAILABLE"}));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0]["result"]["isError"], true);
}

TEST_F(FrontSession, LimitsTheCallsAtOnce) {
  for (std::size_t i = 0; i < kMostCallsInFlight; ++i) call(i);
  ASSERT_TRUE(sent.empty());

  call("one too many");

  EXPECT_EQ(started.size(), kMostCallsInFlight);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0]["error"]["code"], RpcError::kInternalError);
  EXPECT_EQ(sent[0]["id"], "one too many");
}

}  // namespace
}  // namespace repobridge::mcp
