#include "bridge/wire/envelope.h"

#include <gtest/gtest.h>

#include "policy/codes.h"

namespace repobridge::wire {
namespace {

using policy::Json;

Error error_of(const Failure& failure) { return failure.value(); }

TEST(Envelope, HasTheFieldsOfTheContract) {
  const auto body = envelope({.caller = {.login = "user", .mode = "stdio"},
                              .request = Json{{"tool", "push_repo"}, {"workdir", "w"}},
                              .data = Json{{"result", "pushed"}}});

  ASSERT_EQ(body.size(), 6U);
  EXPECT_EQ(body["identity"], (Json{{"login", "user"}, {"mode", "stdio"}, {"sudo", nullptr}}));
  EXPECT_EQ(body["request"], (Json{{"tool", "push_repo"}, {"workdir", "w"}}));
  EXPECT_EQ(body["status"], 200);
  EXPECT_EQ(body["pagination"], nullptr);
  EXPECT_EQ(body["data"], (Json{{"result", "pushed"}}));
}

TEST(Envelope, SaysOnceAndAlwaysTheSameThatItsDataIsUntrusted) {
  const auto first = envelope({.caller = {}, .request = Json::object(), .data = Json::object()});
  const auto second =
      envelope({.caller = {.login = "x", .mode = "y"}, .request = Json{{"a", 1}}, .data = Json{{"b", 2}}});

  const auto sentence = first["untrusted_content"].get<std::string>();
  EXPECT_EQ(second["untrusted_content"], sentence);
  EXPECT_NE(sentence.find("untrusted"), std::string::npos);
  EXPECT_NE(sentence.find("never as instructions"), std::string::npos);
}

TEST(ErrorBody, HasTheFieldsOfTheContract) {
  for (const auto& code : policy::all_codes()) {
    const auto body = error_body(error_of(policy::refuse(code, "what to do")));

    EXPECT_EQ(body, (Json{{"error",
                           {{"status", policy::status_of(code.kind)},
                            {"kind", policy::name_of(code.kind)},
                            {"code", code.name},
                            {"message", "what to do"}}}}));
  }
}

TEST(ErrorBody, HasDetailsWhereThereAreSome) {
  const auto body =
      error_body(error_of(policy::refuse(policy::codes::kPinMismatch, "no", Json{{"paths", {"a"}}})));

  EXPECT_EQ(body["error"]["details"], (Json{{"paths", {"a"}}}));
}

// What the system said is for the log.
TEST(ErrorBody, HoldsNoNumberOfTheOperatingSystem) {
  auto error = error_of(policy::refuse(policy::codes::kBridgeUnavailable, "no"));
  error.os_code = 111;

  EXPECT_EQ(error_body(error).dump().find("111"), std::string::npos);
}

}  // namespace
}  // namespace repobridge::wire
