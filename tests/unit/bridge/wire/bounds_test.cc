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

TEST(Bound, LimitsEveryListToItsItems) {
  const auto exact = bounded(answer(Json{{"entries", numbers(7)}}), limits(100000, 7));
  const auto cut = bounded(answer(Json{{"entries", numbers(8)}, {"other", numbers(3)}}), limits(100000, 7));

  EXPECT_EQ(exact.at("data"), (Json{{"entries", numbers(7)}}));
  EXPECT_EQ(cut.at("data"), (Json{{"entries", numbers(7)}, {"other", numbers(3)}, {"truncated", true}}));
}

TEST(Bound, ShortensListsFromTheirEndWhenTextsAreShort) {
  const auto cut = bounded(answer(Json{{"entries", numbers(900)}}), limits(2000));

  const auto kept = cut.at("data").at("entries").size();
  EXPECT_GT(kept, 200U) << "more was cut than had to be";
  EXPECT_EQ(cut.at("data").at("entries"), numbers(kept));
  EXPECT_EQ(cut.at("data").at("truncated"), true);
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

}  // namespace
}  // namespace repobridge::wire
