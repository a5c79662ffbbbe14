#include "bridge/audit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policy/text.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::bridge {
namespace {

using policy::Json;
using tests::bytes_of;
using tests::TemporaryDirectory;
using tests::value_of;

class AuditTest : public ::testing::Test {
 protected:
  // One life of a bridge, up to where it dies.
  [[nodiscard]] Audit start(const std::string& generation) const {
    auto audit = value_of(Audit::open(state_.path()));
    value_of(audit.start(generation));
    return audit;
  }

  [[nodiscard]] std::vector<Json> lines() const {
    auto texts = policy::split(bytes_of(path()), '\n');
    EXPECT_EQ(texts.back(), "");
    texts.pop_back();
    std::vector<Json> all;
    for (const auto& text : texts) all.push_back(Json::parse(text));
    return all;
  }
  // "event call outcome" of each line.
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (const auto& line : lines()) {
      all.push_back(line["event"].get<std::string>() + " " + line.value("call", "") + " " +
                    line.value("outcome", ""));
    }
    return all;
  }
  [[nodiscard]] std::string path() const { return state_ / "audit.jsonl"; }

  void append(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }

  TemporaryDirectory state_;
};

Audit::Call call(const std::string& id) {
  return Audit::Call{
      .id = id, .front = "front", .caller = {"someone", "stdio"}, .tool = "push_repo", .writes = true};
}

TEST_F(AuditTest, EndsWhatADeadBridgeBegan) {
  {
    auto audit = start("one");
    value_of(audit.begin(call("a")));
    value_of(audit.begin(call("b")));
    value_of(audit.end(call("a"), "ok", Json(), {}));
    value_of(audit.refused(call("c"), "DENIED_PATH"));
  }

  value_of(start("two").stop("two"));

  EXPECT_EQ(events(),
            (std::vector<std::string>{"start  ", "begin a ", "begin b ", "end a ok", "refused c DENIED_PATH",
                                      "end b INTERRUPTED", "start  ", "stop  "}));
  EXPECT_EQ(lines()[5]["tool"], "push_repo");
}

TEST_F(AuditTest, EndsItOnce) {
  { value_of(start("one").begin(call("a"))); }
  (void)start("two");
  (void)start("three");

  EXPECT_EQ(events(),
            (std::vector<std::string>{"start  ", "begin a ", "end a INTERRUPTED", "start  ", "start  "}));
}

TEST_F(AuditTest, EndsItAlthoughItDiedAtThatItself) {
  { value_of(start("one").begin(call("a"))); }
  // The line of the end is there, that of the start is not.
  (void)start("two");
  auto text = bytes_of(path());
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  std::filesystem::remove(path());
  append(text);
  std::filesystem::permissions(path(), std::filesystem::perms(0600));

  (void)start("three");

  EXPECT_EQ(events(), (std::vector<std::string>{"start  ", "begin a ", "end a INTERRUPTED", "start  "}));
}

TEST_F(AuditTest, CutsALineThatIsNotWhole) {
  { value_of(start("one").begin(call("a"))); }
  append(R"({"answer_sha256":"12)");

  (void)start("two");

  EXPECT_EQ(events(), (std::vector<std::string>{"start  ", "begin a ", "end a INTERRUPTED", "start  "}));
}

TEST_F(AuditTest, LooksNoFurtherBackThanTheLastRest) {
  append("{\"event\":\"begin\",\"call\":\"older\"}\n");
  append("{\"at_rest\":true,\"event\":\"mark\"}\n");
  append("{\"event\":\"begin\",\"call\":\"newer\"}\n");
  std::filesystem::permissions(path(), std::filesystem::perms(0600));

  (void)start("two");

  EXPECT_EQ(events().at(3), "end newer INTERRUPTED");
  EXPECT_EQ(events().size(), 5U);
}

TEST_F(AuditTest, MarksMomentsAtRest) {
  auto audit = start("one");
  for (int i = 0; i < 1500; ++i) {
    value_of(audit.begin(call("x")));
    if (i == 999) value_of(audit.begin(call("long")));
    value_of(audit.end(call("x"), "ok", Json(), {}));
    if (i == 1200) value_of(audit.end(call("long"), "ok", Json(), {}));
  }

  const auto all = events();
  const auto mark = std::ranges::find(all, "mark  ");
  ASSERT_NE(mark, all.end());
  EXPECT_EQ(*std::prev(mark), "end long ok");
}

TEST_F(AuditTest, FindsAMarkAcrossTheEdgesOfWhatIsReadAtOnce) {
  // The mark begins at each place near a multiple of the size of a read.
  for (std::size_t filler = 65460; filler < 65500; ++filler) {
    std::filesystem::remove(path());
    append("{\"event\":\"begin\",\"call\":\"older\"}\n");
    append("{\"at_rest\":true,\"event\":\"mark\"}\n");
    append("{\"event\":\"refused\",\"filler\":\"" + std::string(filler, 'x') + "\"}\n");
    std::filesystem::permissions(path(), std::filesystem::perms(0600));

    (void)start("two");

    EXPECT_EQ(events().size(), 4U) << filler;
  }
}

TEST_F(AuditTest, NotesARecovery) {
  auto audit = start("one");

  value_of(audit.recovered(
      {.login = "admin", .workdir = "app", .holder = {{"tool", "push_repo"}}, .still_alive = 2}));

  const auto line = lines().back();
  EXPECT_EQ(line["event"], "recovered");
  EXPECT_EQ(line["still_alive"], 2);
  EXPECT_EQ(line["holder"]["tool"], "push_repo");
}

}  // namespace
}  // namespace repobridge::bridge
