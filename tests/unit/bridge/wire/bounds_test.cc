#include "bridge/wire/bounds.h"

#include <gtest/gtest.h>

#include <random>

#include "bridge/wire/envelope.h"
#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::wire {
namespace {

using policy::dump_json;
using policy::Json;
using policy::Limits;

const std::string kEmoji = "\xF0\x9F\x98\x80";

Limits limits(std::size_t chars, std::size_t items = 1000) {
  return {.max_response_items = items, .max_response_chars = chars};
}

Json answer(Json data, Json request = Json{{"tool", "inspect_repo"}, {"workdir", "w"}}) {
  return envelope(
      {.caller = {.login = "user", .mode = "stdio"}, .request = std::move(request), .data = std::move(data)});
}

Json bounded(Json body, const Limits& to) {
  bound(body, to);
  EXPECT_LE(dump_json(body).size(), to.max_response_chars);
  return body;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

Json numbers(std::size_t count) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(i);
  return list;
}

// --- cut_text ----------------------------------------------------------------------------------------------

TEST(CutText, KeepsWhatFits) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("", 0), "");
  EXPECT_EQ(cut_text("a\nb", 4), "a\nb");  // the newline takes two bytes in JSON
}

TEST(CutText, CutsAtTheEndOfALine) {
  EXPECT_EQ(cut_text("one\ntwo\nthree", 12), "one\ntwo\n");
  EXPECT_EQ(cut_text("one\ntwo\n", 9), "one\n");
  EXPECT_EQ(cut_text("one\ntwo", 5), "one\n");
  EXPECT_EQ(cut_text("\n\n\n", 3), "\n");
}

TEST(CutText, CutsALineWithoutEndBetweenCharacters) {
  EXPECT_EQ(cut_text("abcdef", 3), "abc");
  EXPECT_EQ(cut_text("abcdef", 0), "");
  for (std::size_t offset = 0; offset < 4; ++offset) {
    const auto text = std::string(offset, 'x') + repeated(kEmoji, 5);
    for (std::size_t budget = 0; budget < text.size(); ++budget) {
      const auto cut = cut_text(text, budget);
      EXPECT_TRUE(policy::is_utf8(cut)) << offset << " " << budget;
      EXPECT_GT(cut.size() + 4, budget) << "more was cut than had to be";
    }
  }
}

TEST(CutText, CountsEveryByteAsJsonWritesIt) {
  std::string all;
  for (int value = 0; value < 0x80; ++value) {
    if (value != '\n') all += static_cast<char>(value);
  }
  all += "\xC3\xA9" + kEmoji;
  for (std::size_t budget = 0; budget < 600; ++budget) {
    const auto cut = cut_text(all, budget);
    EXPECT_LE(dump_json(Json(std::string(cut))).size(), budget + 2) << budget;
  }
}

// --- bound -------------------------------------------------------------------------------------------------

TEST(Bound, LeavesAloneWhatFits) {
  const auto body = answer(Json{{"stdout", lines(20)}, {"entries", numbers(10)}});

  EXPECT_EQ(bounded(body, limits(dump_json(body).size(), 10)), body);
}

TEST(Bound, CutsWhatIsOneByteTooLong) {
  const auto body = answer(Json{{"stdout", lines(2000)}});

  const auto cut = bounded(body, limits(dump_json(body).size() - 1));

  EXPECT_EQ(cut.at("data").at("stdout_truncated"), true);
}

TEST(Bound, CutsALongTextAtALineAndSaysSo) {
  const auto cut = bounded(answer(Json{{"stdout", lines(10000)}, {"exit_code", 0}}), limits(5000));

  const auto text = cut.at("data").at("stdout").get<std::string>();
  EXPECT_TRUE(lines(10000).starts_with(text));
  EXPECT_TRUE(text.ends_with('\n'));
  EXPECT_GT(text.size(), 3000U) << "more was cut than had to be";
  EXPECT_EQ(cut.at("data").at("stdout_truncated"), true);
  EXPECT_EQ(cut.at("data").at("exit_code"), 0);
}

TEST(Bound, CutsOneEndlessLine) {
  const auto cut = bounded(answer(Json{{"stdout", repeated(kEmoji, 500000)}}), limits(5000));

  const auto text = cut.at("data").at("stdout").get<std::string>();
  EXPECT_TRUE(policy::is_utf8(text));
  EXPECT_GT(text.size(), 3000U);
  EXPECT_EQ(cut.at("data").at("stdout_truncated"), true);
}

TEST(Bound, CutsLongTextsEvenly) {
  const auto cut = bounded(answer(Json{{"stdout", lines(10000)}, {"stderr", lines(10000)}}), limits(20000));

  const auto out = cut.at("data").at("stdout").get<std::string>().size();
  const auto err = cut.at("data").at("stderr").get<std::string>().size();
  EXPECT_EQ(out, err);
  EXPECT_GT(out, 7000U);
}

TEST(Bound, LeavesAShortTextWholeBesideALongOne) {
  const auto cut = bounded(answer(Json{{"stdout", lines(10000)}, {"stderr", lines(100)}}), limits(20000));

  EXPECT_EQ(cut.at("data").at("stderr"), lines(100));
  EXPECT_FALSE(cut.at("data").contains("stderr_truncated"));
  EXPECT_EQ(cut.at("data").at("stdout_truncated"), true);
}

TEST(Bound, MarksAPatchInItsFileAndInTheAnswer) {
  const Json files{{{"path", "a"}, {"patch", lines(10)}, {"truncated", false}},
                   {{"path", "b"}, {"patch", lines(10000)}, {"truncated", false}}};

  const auto cut = bounded(answer(Json{{"files", files}, {"truncated", false}}), limits(10000));

  EXPECT_EQ(cut.at("data").at("truncated"), true);
  EXPECT_EQ(cut.at("data").at("files").at(0), files[0]);
  EXPECT_EQ(cut.at("data").at("files").at(1).at("truncated"), true);
  EXPECT_FALSE(cut.at("data").at("files").at(1).contains("patch_truncated"));
}

TEST(Bound, CountsWhatEscapesTake) {
  for (const char* text : {"\x01", "\"", "\\", "\t", "\x1b[0m"}) {
    const auto cut = bounded(answer(Json{{"stdout", repeated(text, 20000)}}), limits(5000));

    EXPECT_EQ(cut.at("data").at("stdout_truncated"), true);
    EXPECT_GT(dump_json(cut).size(), 4000U) << "more was cut than had to be";
  }
}

TEST(Bound, CountsWhatBytesThatAreNotUtf8Become) {
  for (const char* text : {"\xFF", "a\xE9", "\xF0\x9F\x98"}) {
    const auto cut = bounded(answer(Json{{"stdout", repeated(text, 20000)}}), limits(5000));

    EXPECT_EQ(cut.at("data").at("stdout_truncated"), true);
    EXPECT_GT(dump_json(cut).size(), 4000U) << "more was cut than had to be";
  }
}

TEST(Bound, LimitsEveryListToItsItems) {
  const auto exact = bounded(answer(Json{{"entries", numbers(7)}}), limits(100000, 7));
  const auto cut = bounded(answer(Json{{"entries", numbers(8)}, {"other", numbers(3)}}), limits(100000, 7));

  EXPECT_EQ(exact.at("data"), (Json{{"entries", numbers(7)}}));
  EXPECT_EQ(cut.at("data"), (Json{{"entries", numbers(7)}, {"other", numbers(3)}, {"truncated", true}}));
}

TEST(Bound, LimitsAListAtAnyDepth) {
  const auto cut = bounded(
      answer(Json{
          {"files", {{{"hunks", numbers(9)}}}}, {"pins", {{"paths", numbers(9)}}}, {"nested", {numbers(9)}}}),
      limits(100000, 7));

  EXPECT_EQ(cut.at("data").at("files").at(0).at("hunks"), numbers(7));
  EXPECT_EQ(cut.at("data").at("pins").at("paths"), numbers(7));
  EXPECT_EQ(cut.at("data").at("nested").at(0), numbers(7));
  EXPECT_EQ(cut.at("data").at("truncated"), true);
}

TEST(Bound, ShortensListsFromTheirEndWhenTextsAreShort) {
  const auto cut = bounded(answer(Json{{"entries", numbers(900)}}), limits(2000));

  const auto kept = cut.at("data").at("entries").size();
  EXPECT_GT(kept, 200U) << "more was cut than had to be";
  EXPECT_EQ(cut.at("data").at("entries"), numbers(kept));
  EXPECT_EQ(cut.at("data").at("truncated"), true);
}

TEST(Bound, ShortensAListBelowAnObject) {
  const auto cut = bounded(answer(Json{{"pins", {{"paths", numbers(900)}}}}), limits(2000));

  EXPECT_GT(cut.at("data").at("pins").at("paths").size(), 200U);
  EXPECT_EQ(cut.at("data").at("truncated"), true);
}

TEST(Bound, ShortensWhatWasAskedForToo) {
  Json paths = Json::array();
  for (int i = 0; i < 1000; ++i) paths.push_back("a/rather/long/path/of/a/file/number/" + std::to_string(i));
  const Json request{{"tool", "inspect_repo"}, {"workdir", "w"}, {"view", "diff"}, {"paths", paths}};

  const auto cut = bounded(answer(Json{{"files", numbers(5)}}, request), limits(5000));

  EXPECT_EQ(cut.at("request").at("workdir"), "w");
  EXPECT_EQ(cut.at("request").at("truncated"), true);
  EXPECT_GT(cut.at("request").at("paths").size(), 5U);
  EXPECT_EQ(cut.at("data"), (Json{{"files", numbers(5)}}));
}

// No answer of ours is like that; the promise holds all the same.
TEST(Bound, GivesUpOnDataThatCannotBeShortened) {
  Json many = Json::object();
  for (int i = 0; i < 1000; ++i) many["key" + std::to_string(i)] = "a text too short to be cut";

  const auto cut = bounded(answer(many), limits(2000));

  EXPECT_EQ(cut.at("data"), (Json{{"truncated", true}}));
  EXPECT_EQ(cut.at("request").at("workdir"), "w");
}

TEST(Bound, ShortensTheListsOfARefusal) {
  const auto refusal = error_body(policy::refuse(policy::codes::kPinMismatch, "the pinned files differ",
                                                 Json{{"paths", numbers(5000)}, {"head", "abc"}})
                                      .value());

  const auto by_items = bounded(refusal, limits(100000, 7));
  const auto by_chars = bounded(refusal, limits(2000, 5000));

  EXPECT_EQ(by_items.at("error").at("details"), (Json{{"paths", numbers(7)}, {"head", "abc"}}));
  EXPECT_EQ(by_chars.at("error").at("details").at("head"), "abc");
  EXPECT_GT(by_chars.at("error").at("details").at("paths").size(), 100U);
  EXPECT_EQ(by_chars.at("error").at("code"), "REPO_PIN_MISMATCH");
  EXPECT_EQ(by_chars.at("error").at("message"), "the pinned files differ");
}

TEST(Bound, LeavesARefusalWithoutDetailsAlone) {
  const auto refusal = error_body(policy::refuse(policy::codes::kInternalError, "see the log").value());

  EXPECT_EQ(bounded(refusal, limits(2000)), refusal);
}

// Any value at all: bounded, still JSON, and the same when it is bounded again.
class AnyValue {
 public:
  explicit AnyValue(unsigned seed) : random_(seed) {}

  Json object(int depth) {
    Json made = Json::object();
    const auto count = up_to(6);
    for (std::size_t i = 0; i < count; ++i) made[i == 0 ? "patch" : "key" + std::to_string(i)] = value(depth);
    return made;
  }

 private:
  Json value(int depth) {
    const auto kind = up_to(depth > 0 ? 6 : 3);
    if (kind == 0) return up_to(1000000);
    if (kind <= 2) return std::string(repeated(pieces_.at(up_to(pieces_.size() - 1)), up_to(3000)));
    if (kind == 3) return object(depth - 1);
    Json list = Json::array();
    const auto count = up_to(kind == 4 ? 5 : 200);
    for (std::size_t i = 0; i < count; ++i) list.push_back(kind == 4 ? value(depth - 1) : Json(i));
    return list;
  }
  std::size_t up_to(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random_); }

  std::mt19937 random_;
  std::vector<std::string> pieces_{"x", "line\n", "\x01", "\"", kEmoji, "\xFF", "\xE9\n", ""};
};

TEST(Bound, HoldsForAnyData) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    const auto body = answer(AnyValue(seed).object(3));
    for (const std::size_t chars : {2000U, 5000U, 50000U}) {
      const auto cut = bounded(body, limits(chars, 50));

      ASSERT_TRUE(policy::parse_json(dump_json(cut)));
      ASSERT_EQ(dump_json(bounded(cut, limits(chars, 50))), dump_json(cut)) << seed << " " << chars;
    }
  }
}

}  // namespace
}  // namespace repobridge::wire
