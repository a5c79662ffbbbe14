#include "policy/text.h"

#include <gtest/gtest.h>

namespace repobridge::policy {
namespace {

std::string encoded(unsigned code_point) {
  const auto tail = [](unsigned bits) { return static_cast<char>(0x80U | (bits & 0x3FU)); };
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  if (code_point < 0x800) return {static_cast<char>(0xC0U | (code_point >> 6U)), tail(code_point)};
  if (code_point < 0x10000) {
    return {static_cast<char>(0xE0U | (code_point >> 12U)), tail(code_point >> 6U), tail(code_point)};
  }
  return {static_cast<char>(0xF0U | (code_point >> 18U)), tail(code_point >> 12U), tail(code_point >> 6U),
          tail(code_point)};
}

TEST(Utf8, IsEveryCodePointButTheSurrogates) {
  for (unsigned code_point = 0; code_point < 0x110000; ++code_point) {
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    ASSERT_EQ(is_utf8(encoded(code_point)), !surrogate) << code_point;
  }
}

TEST(Utf8, IsNothingAboveTheLastCodePoint) {
  for (const unsigned code_point : {0x110000U, 0x13FFFFU, 0x140000U, 0x1FFFFFU}) {
    EXPECT_FALSE(is_utf8(encoded(code_point))) << code_point;
  }
}

void check_broken_utf8(const std::vector<std::string_view>& cases) {
  for (const auto& param : cases) {
    const std::string broken(param);

    EXPECT_FALSE(is_utf8(broken));
    EXPECT_FALSE(is_utf8("a" + broken));
    EXPECT_FALSE(is_utf8(broken + "a"));
    EXPECT_FALSE(is_utf8("\xC3\xA9" + broken + "\xC3\xA9"));
  }
}

TEST(Utf8, IsNeverTruncated) {
  check_broken_utf8({"\xC3", "\xE2", "\xE2\x82", "\xF0", "\xF0\x9F", "\xF0\x9F\x98"});
}

TEST(Utf8, IsNeverOverlong) {
  check_broken_utf8({"\xC0\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xE0\x9F\xBF", "\xF0\x80\x80\xAF",
                     "\xF0\x8F\xBF\xBF"});
}

TEST(Utf8, NeverBeginsWithAByteThatCannotLead) {
  check_broken_utf8({"\x80", "\xBF", "\xFE", "\xFF", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80"});
}

TEST(Utf8, HoldsNoEncodedSurrogate) {
  check_broken_utf8({"\xED\xA0\x80", "\xED\xBF\xBF", "\xED\xA0\xBD\xED\xB8\x80"});
}

TEST(Utf8, HasALongestBeginningThatIsWellFormed) {
  EXPECT_EQ(utf8_prefix("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(utf8_prefix("caf\xC3"), "caf");
  EXPECT_EQ(utf8_prefix("a\xFF"
                        "b"),
            "a");
  EXPECT_EQ(utf8_prefix("\xFF"), "");
  EXPECT_EQ(utf8_prefix(""), "");
}

struct GlobCase {
  const char* pattern;
  const char* name;
  bool matches;
};

void check_glob(const std::vector<GlobCase>& cases) {
  for (const auto& param : cases) {
    const auto& [pattern, name, matches] = param;

    EXPECT_EQ(glob_matches(pattern, name, LetterCase::exact), matches) << pattern << " on " << name;
  }
}

TEST(Glob, MatchesTheWholeNameOrNothing) {
  check_glob({{"", "", true},
              {"", "a", false},
              {"a", "", false},
              {"abc", "abc", true},
              {"abc", "abcd", false},
              {"abc", "xabc", false},
              {"abc", "ABC", false},
              {"a.c", "abc", false}});
}

TEST(Glob, TakesAStarForAnyBytes) {
  check_glob({{"*", "", true},
              {"*", "anything/at all", true},
              {"*.pem", ".pem", true},
              {"*.pem", "a.pem", true},
              {"*.pem", "a.pem.txt", false},
              {"a*b*c", "aXbXbXc", true},
              {"a*b*c", "aXcXb", false},
              {"**", "a", true},
              {"a**", "a", true},
              {"*a*", "bab", true},
              {"*ab", "aab", true},
              {"*aab", "aaab", true}});
}

TEST(Glob, TakesAQuestionMarkForOneByte) {
  check_glob({{"?", "a", true},
              {"?", "", false},
              {"?", "ab", false},
              {"a?c", "abc", true},
              {"?*", "", false},
              {"*?", "ab", true}});
}

TEST(Glob, TakesBracketsForAClass) {
  check_glob({{"[abc]", "b", true},   {"[abc]", "d", false},    {"[a-c]", "b", true},
              {"[a-c]", "d", false},  {"[!a-c]", "d", true},    {"[!a-c]", "b", false},
              {"[^a-c]", "b", false}, {"[]]", "]", true},       {"[!]]", "]", false},
              {"[!]]", "a", true},    {"[a-]", "-", true},      {"[-a]", "-", true},
              {"[a-c]x", "bx", true}, {"*[0-9]", "log7", true}, {"[0-9][0-9]", "7", false},
              {"[c-a]", "b", false},  {"[abc", "[abc", true},   {"[abc", "a", false},
              {"[", "[", true},       {"[*]", "*", true},       {"[*]", "a", false}});
}

TEST(Glob, TakesLettersOfEitherCaseAsOneOnlyWhereAsked) {
  EXPECT_TRUE(glob_matches("ID_rsa*", "id_RSA.bak", LetterCase::alike));
  EXPECT_FALSE(glob_matches("ID_rsa*", "id_RSA.bak", LetterCase::exact));
  EXPECT_TRUE(glob_matches("[A-Z]x", "bX", LetterCase::alike));
  EXPECT_FALSE(glob_matches("[A-Z]x", "bx", LetterCase::exact));
}

// Each star of a pattern that fails at its end would multiply the time in a matcher that tries everything.
TEST(Glob, TakesNoMoreTimeForMoreStars) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  const std::string name(4000, 'a');

  EXPECT_TRUE(glob_matches(pattern, name, LetterCase::exact));
  EXPECT_FALSE(glob_matches(pattern + "b", name, LetterCase::exact));
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a/b", '/'), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split("/a//", '/'), (std::vector<std::string>{"", "a", "", ""}));
  EXPECT_EQ(split("", '/'), (std::vector<std::string>{""}));
}

TEST(Trimmed, TakesOnlyBlanksAndTabsAway) {
  EXPECT_EQ(trimmed(" \t a b \t"), "a b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\na\r"), "\na\r");
}

TEST(LowerAscii, ChangesOnlyTheTwentySixLetters) {
  for (int value = 0; value < 256; ++value) {
    const auto c = static_cast<char>(value);
    const auto expected = value >= 'A' && value <= 'Z' ? static_cast<char>(value + 32) : c;
    EXPECT_EQ(lower_ascii(c), expected) << value;
  }
  EXPECT_EQ(lower_ascii(std::string_view("A\xC3\x84Z")), "a\xC3\x84z");
}

}  // namespace
}  // namespace repobridge::policy
