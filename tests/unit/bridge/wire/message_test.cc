// The bytes of every message, both ways. REPOBRIDGE_ACCEPT_GOLDEN=1 rewrites tests/golden/wire from the
// messages below; what changes there changes the protocol.
#include "bridge/wire/message.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "bridge/wire/envelope.h"
#include "policy/codes.h"
#include "tests/unit/details.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::wire {
namespace {

using policy::Json;
using policy::parse_json;
using tests::argument_of;
using tests::code_of;
using tests::value_of;

const std::string kId = "0123456789abcdef0123456789abcdef";
const std::string kDigest(64, 'd');
Caller caller() { return {.login = "user", .mode = "stdio"}; }

const std::map<std::string, FromClient>& from_client() {
  static const std::map<std::string, FromClient> kMessages{
      {"client_hello", ClientHello{.versions = {1}, .policy_digest = kDigest}},
      {"client_hello_of_many_versions", ClientHello{.versions = {1, 2, INT64_MAX}, .policy_digest = ""}},
      {"request",
       Request{.id = kId,
               .tool = "inspect_repo",
               .arguments = *parse_json(R"({"workdir":"w","view":"diff","paths":["a b/c","\"x"]})"),
               .caller = caller()}},
      {"request_without_arguments",
       Request{.id = kId, .tool = "", .arguments = Json::object(), .caller = {.login = "", .mode = ""}}},
      {"request_of_odd_values",
       Request{.id = kId,
               .tool = "commit_repo_changes",
               .arguments =
                   *parse_json("{\"message\":\"caf\\u00e9 "
                               "\\ud83d\\ude00\\n\\t\\u0000\\u001b\\u007f\\u2028\\\"\\\\/\",\"paths\":[],"
                               "\"n\":[-1,0,1.5,18446744073709551615,true,null]}"),
               .caller = {.login = "us\xC3\xA9r", .mode = "http"}}},
      {"cancel", Cancel{}}};
  return kMessages;
}

const std::map<std::string, FromServer>& from_server() {
  static const std::map<std::string, FromServer> kMessages{
      {"server_hello", ServerHello{.version = 1, .policy_digest = kDigest, .generation = kId}},
      {"progress", Progress{.elapsed_ms = 5000, .output_bytes = 17}},
      {"progress_at_once", Progress{.elapsed_ms = 0}},
      {"result", Outcome{.is_error = false,
                         .body = envelope({.caller = caller(),
                                           .request = Json{{"tool", "inspect_repo"}, {"workdir", "w"}},
                                           .data = Json{{"clean", true}, {"entries", Json::array()}}})}},
      {"result_refused",
       Outcome{.is_error = true,
               .body = error_body(policy::refuse(policy::codes::kWorkdirBusy, "wait for the run to end",
                                                 Json{{"holder", {{"tool", "push_repo"}}}})
                                      .value())}},
      {"result_refused_without_details",
       Outcome{.is_error = true,
               .body = error_body(policy::refuse(policy::codes::kInternalError, "see the log").value())}}};
  return kMessages;
}

std::string golden_path(const std::string& name) { return RB_GOLDEN "/wire/" + name + ".json"; }

void write_golden(const std::string& name, const std::string& bytes) {
  std::ofstream(golden_path(name), std::ios::binary) << bytes;
}

bool accepting() {
  return std::getenv("REPOBRIDGE_ACCEPT_GOLDEN") != nullptr;
}  // NOLINT(concurrency-mt-unsafe)

template <class Messages>
void expect_golden(const Messages& messages, auto decode) {
  for (const auto& [name, message] : messages) {
    if (accepting()) write_golden(name, encode(message));
    const auto bytes = tests::bytes_of(golden_path(name));

    EXPECT_EQ(encode(message), bytes) << name;
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded) << name << ": " << decoded.error().message;
    EXPECT_EQ(decoded->index(), message.index()) << name;
    EXPECT_EQ(encode(*decoded), bytes) << name;
  }
}

TEST(GoldenMessages, AreWhatAFrontSends) { expect_golden(from_client(), decode_from_client); }

TEST(GoldenMessages, AreWhatTheBridgeSends) { expect_golden(from_server(), decode_from_server); }

TEST(GoldenMessages, AreAllOfTheMessages) {
  std::set<std::string> known;
  for (const auto& [name, message] : from_client()) known.insert(golden_path(name));
  for (const auto& [name, message] : from_server()) known.insert(golden_path(name));
  std::set<std::string> stored;
  for (const auto& entry : std::filesystem::directory_iterator(RB_GOLDEN "/wire"))
    stored.insert(entry.path());

  EXPECT_EQ(stored, known);
}

// --- decoding ----------------------------------------------------------------------------------------------

std::string client_code(std::string_view body) { return code_of(decode_from_client(body)); }
std::string server_code(std::string_view body) { return code_of(decode_from_server(body)); }

TEST(Decode, GivesEveryFieldItsValue) {
  const auto request =
      std::get<Request>(value_of(decode_from_client(tests::bytes_of(golden_path("request")))));
  const auto hello = std::get<ClientHello>(
      value_of(decode_from_client(tests::bytes_of(golden_path("client_hello_of_many_versions")))));
  const auto answer =
      std::get<ServerHello>(value_of(decode_from_server(tests::bytes_of(golden_path("server_hello")))));

  EXPECT_EQ(request.id, kId);
  EXPECT_EQ(request.tool, "inspect_repo");
  EXPECT_EQ(request.arguments["paths"], (Json{"a b/c", "\"x"}));
  EXPECT_EQ(request.caller.login, "user");
  EXPECT_EQ(request.caller.mode, "stdio");
  EXPECT_EQ(hello.versions, (std::vector<std::int64_t>{1, 2, INT64_MAX}));
  EXPECT_EQ(answer.version, 1);
  EXPECT_EQ(answer.policy_digest, kDigest);
  EXPECT_EQ(answer.generation, kId);
}

TEST(Decode, TakesAMessageInItsOwnDirectionOnly) {
  for (const auto& [name, message] : from_server()) {
    EXPECT_EQ(client_code(encode(message)), "INVALID_REQUEST") << name;
  }
  for (const auto& [name, message] : from_client()) {
    EXPECT_EQ(server_code(encode(message)), "INVALID_REQUEST") << name;
  }
}

// Every value of a message in turn is missing, of another type or beside one too many.
template <class Messages>
void expect_strict(const Messages& messages, auto decode) {
  const std::vector<Json> others{nullptr, true, 1, -1, 1.5, "x", Json::array(), Json::object()};
  for (const auto& [name, message] : messages) {
    const Json document = *parse_json(encode(message));
    for (const auto& [key, value] : document.items()) {
      auto less = document;
      less.erase(key);
      EXPECT_EQ(code_of(decode(less.dump())), "INVALID_REQUEST") << name << " without " << key;
      for (const auto& other : others) {
        const bool same_kind = other.type() == value.type() || (other.is_number() && value.is_number());
        if (same_kind) continue;
        auto changed = document;
        changed[key] = other;
        EXPECT_EQ(code_of(decode(changed.dump())), "INVALID_REQUEST")
            << name << " with " << key << " " << other;
      }
    }
    auto more = document;
    more["unknown"] = 1;
    EXPECT_EQ(code_of(decode(more.dump())), "INVALID_REQUEST") << name;
    EXPECT_EQ(argument_of(decode(more.dump())), "unknown") << name;
  }
}

TEST(Decode, TakesExactlyTheKeysOfAFrontsMessage) { expect_strict(from_client(), decode_from_client); }

TEST(Decode, TakesExactlyTheKeysOfTheBridgesMessage) { expect_strict(from_server(), decode_from_server); }

TEST(Decode, RefusesWhatIsNoMessage) {
  for (const char* body : {"", "null", "[]", "\"hello\"", "{}", "{", R"({"type":1})", R"({"type":"Hello"})",
                           R"({"type":"shutdown"})",
                           R"({"type":"cancel"} )"
                           "x",
                           R"({"type":"cancel","type":"cancel"})", "\xEF\xBB\xBF{\"type\":\"cancel\"}",
                           R"({"type":"cancel\ud800"})", R"({"type":NaN})"}) {
    EXPECT_EQ(client_code(body), "INVALID_REQUEST") << body;
    EXPECT_EQ(server_code(body), "INVALID_REQUEST") << body;
  }
  EXPECT_EQ(client_code(std::string(100000, '[')), "INVALID_REQUEST");
}

TEST(Decode, TakesVersionsThatAreWholeNumbers) {
  const auto with = [](const std::string& versions) {
    return client_code(R"({"type":"hello","policy_digest":"","versions":)" + versions + "}");
  };
  std::string sixteen = "[1";
  for (int i = 0; i < 15; ++i) sixteen += ",1";

  EXPECT_EQ(with("[1]"), "OK");
  EXPECT_EQ(with(sixteen + "]"), "OK");
  EXPECT_EQ(with(sixteen + ",1]"), "INVALID_REQUEST");
  for (const char* versions : {"[]", "1", "[true]", "[\"1\"]", "[1.0]", "[-1]", "[null]", "[[1]]",
                               "[1,\"2\"]", "[9223372036854775808]", "[18446744073709551615]", "[1e2]"}) {
    EXPECT_EQ(with(versions), "INVALID_REQUEST") << versions;
  }
}

TEST(Decode, TakesAnIdOf32LowerCaseDigits) {
  const auto with = [](const std::string& id) {
    return client_code(
        encode(Request{.id = id, .tool = "t", .arguments = Json::object(), .caller = caller()}));
  };

  EXPECT_EQ(with(kId), "OK");
  for (const auto& id : {std::string(), kId.substr(1), kId + "0", std::string(32, 'A'), std::string(32, 'g'),
                         std::string(31, '0') + " "}) {
    EXPECT_EQ(with(id), "INVALID_REQUEST") << id;
  }
}

TEST(Decode, TakesNumbersToTheirBounds) {
  const auto progress = [](const std::string& n) {
    return server_code(R"({"type":"progress","output_bytes":0,"elapsed_ms":)" + n + "}");
  };
  const auto hello = [](const std::string& n) {
    return server_code(R"({"type":"hello","policy_digest":"","generation":"","version":)" + n + "}");
  };

  EXPECT_EQ(progress("9223372036854775807"), "OK");
  EXPECT_EQ(progress("9223372036854775808"), "INVALID_REQUEST");
  EXPECT_EQ(progress("-1"), "INVALID_REQUEST");
  EXPECT_EQ(hello("1"), "OK");
  EXPECT_EQ(hello("0"), "INVALID_REQUEST");
  EXPECT_EQ(hello("1.0"), "INVALID_REQUEST");
}

TEST(Decode, TakesACallerThatFitsAnAudit) {
  const auto with = [](const Caller& who) {
    return client_code(encode(Request{.id = kId, .tool = "t", .arguments = Json::object(), .caller = who}));
  };

  EXPECT_EQ(with({.login = std::string(256, 'l'), .mode = "stdio"}), "OK");
  EXPECT_EQ(with({.login = std::string(257, 'l'), .mode = "stdio"}), "INVALID_REQUEST");
  EXPECT_EQ(with({.login = "l", .mode = std::string(257, 'm')}), "INVALID_REQUEST");
  for (const char* text : {"a\nb", "\x1b[2J", "\x7f"}) {
    EXPECT_EQ(with({.login = text, .mode = "stdio"}), "INVALID_REQUEST") << text;
    EXPECT_EQ(with({.login = "l", .mode = text}), "INVALID_REQUEST") << text;
  }
}

TEST(Decode, TakesACallerOfTwoFields) {
  const auto with = [](const char* who) {
    return decode_from_client(R"({"type":"request","id":")" + kId +
                              R"(","tool":"t","arguments":{},"caller":)" + who + "}");
  };

  EXPECT_EQ(code_of(with(R"({"login":"l","mode":"m"})")), "OK");
  EXPECT_EQ(argument_of(with(R"({"login":"l"})")), "caller.mode");
  EXPECT_EQ(argument_of(with(R"({"login":1,"mode":"m"})")), "caller.login");
  EXPECT_EQ(argument_of(with(R"({"login":"l","mode":"m","sudo":"root"})")), "caller.sudo");
}

TEST(Negotiate, NeedsOneCommonVersion) {
  const auto with = [](std::vector<std::int64_t> versions) {
    return code_of(negotiate(ClientHello{.versions = std::move(versions), .policy_digest = ""}));
  };

  EXPECT_EQ(with({kProtocolVersion}), "OK");
  EXPECT_EQ(with({7, kProtocolVersion, 0}), "OK");
  EXPECT_EQ(with({kProtocolVersion + 1}), "PROTOCOL_VERSION_UNSUPPORTED");
  EXPECT_EQ(with({0}), "PROTOCOL_VERSION_UNSUPPORTED");
  EXPECT_EQ(with({}), "PROTOCOL_VERSION_UNSUPPORTED");
}

}  // namespace
}  // namespace repobridge::wire
