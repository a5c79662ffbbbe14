#include "policy/env_file.h"

#include <gtest/gtest.h>

#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using namespace std::string_view_literals;
using tests::code_of;
using tests::message_of;
using tests::value_of;

// The value of A in "A=" + text, or the refusal.
std::string read(std::string_view text) {
  const auto file = parse_env_file("A=" + std::string(text) + "\n");
  if (!file) return "refused: " + file.error().message;
  return file->at("A").text;
}

void expect_refused(std::string_view text, std::string_view why) {
  EXPECT_NE(read(text).find("refused: line 1: "), std::string::npos) << text << " gave " << read(text);
  EXPECT_NE(read(text).find(why), std::string::npos) << text << " gave " << read(text);
}

TEST(EnvFile, ReadsNamesAndValuesWithTheirLines) {
  const auto file =
      value_of(parse_env_file("# comment\n\nA=1\n  \t\n_B2=two words\n  # indented comment\nC=\n"));

  ASSERT_EQ(file.size(), 3U);
  EXPECT_EQ(file.at("A").text, "1");
  EXPECT_EQ(file.at("A").line, 3U);
  EXPECT_EQ(file.at("_B2").text, "two words");
  EXPECT_EQ(file.at("_B2").line, 5U);
  EXPECT_EQ(file.at("C").text, "");
}

TEST(EnvFile, MayBeEmpty) {
  EXPECT_TRUE(value_of(parse_env_file("")).empty());
  EXPECT_TRUE(value_of(parse_env_file("\n\n# nothing")).empty());
}

TEST(EnvFile, NeedsNoNewlineAtItsEndAndTakesThoseOfWindows) {
  EXPECT_EQ(value_of(parse_env_file("A=1\r\nB=2")).at("A").text, "1");
  EXPECT_EQ(value_of(parse_env_file("A=1\r\nB=2")).at("B").text, "2");
  EXPECT_EQ(value_of(parse_env_file("\xEF\xBB\xBF"
                                    "A=1"))
                .at("A")
                .text,
            "1");
}

TEST(EnvFile, TrimsABareValueAndEndsItAtAComment) {
  EXPECT_EQ(read("x"), "x");
  EXPECT_EQ(read("  x y\t "), "x y");
  EXPECT_EQ(read("x # comment"), "x");
  EXPECT_EQ(read("x\t# comment"), "x");
  EXPECT_EQ(read(" # comment"), "");
  EXPECT_EQ(read("x#y"), "x#y");
  EXPECT_EQ(read("a=b=c"), "a=b=c");
  EXPECT_EQ(read("C:\\dir"), "C:\\dir");
}

TEST(EnvFile, TakesAHashThatFollowsNoBlankForItself) {
  EXPECT_EQ(read("#x"), "#x");
  EXPECT_EQ(read("#"), "#");
}

TEST(EnvFile, TakesASingleQuotedValueVerbatim) {
  EXPECT_EQ(read("' x '"), " x ");
  EXPECT_EQ(read("'$HOME ${X} $$ `id` # \\ \"'"), "$HOME ${X} $$ `id` # \\ \"");
  EXPECT_EQ(read("''"), "");
  EXPECT_EQ(read("'x'  # comment"), "x");
}

TEST(EnvFile, KnowsTwoEscapesInADoubleQuotedValue) {
  EXPECT_EQ(read(R"("a\"b")"), "a\"b");
  EXPECT_EQ(read(R"("a\\b")"), "a\\b");
  EXPECT_EQ(read(R"("a\\")"), "a\\");
  EXPECT_EQ(read(R"("a\nb")"), "a\\nb");
  EXPECT_EQ(read(R"(" x # y ")"), " x # y ");
  EXPECT_EQ(read(R"("it's")"), "it's");
  EXPECT_EQ(read(R"("x" # comment)"), "x");
  EXPECT_EQ(read(R"("")"), "");
}

TEST(EnvFile, TakesBareJsonToTheEndOfItsLine) {
  EXPECT_EQ(read(R"({"a": 1, "b": " #"})"), R"({"a": 1, "b": " #"})");
  EXPECT_EQ(read(R"(["x # y"])"), R"(["x # y"])");
  EXPECT_EQ(read(R"({} # no comment)"), R"({} # no comment)");
}

TEST(EnvFile, ExpandsNothingAndRefusesWhatOthersWould) {
  for (const char* value :
       {"$HOME", "${HOME}", "${X:-y}", "$$", "a$b", "a$_b", "$(id)", "x$Y z", R"("$HOME")", R"("a ${B}")",
        R"("\$HOME")", R"("a$$b")", R"({"argv":["$HOME/x"]})", R"(["$x"])"}) {
    expect_refused(value, "nothing is expanded here");
  }
}

TEST(EnvFile, TakesADollarThatNobodyExpands) {
  EXPECT_EQ(read("a$"), "a$");
  EXPECT_EQ(read("5$ off"), "5$ off");
  EXPECT_EQ(read("\"^x$\""), "^x$");
  EXPECT_EQ(read("a$/b"), "a$/b");
}

TEST(EnvFile, RunsNoCommand) { EXPECT_EQ(read("`touch /tmp/x`"), "`touch /tmp/x`"); }

TEST(EnvFile, RefusesQuotesThatAreNotBalanced) {
  for (const char* value : {"'x", "\"x", "'", "\"", R"("x\")", "'it's'", "'x\""}) {
    EXPECT_TRUE(read(value).starts_with("refused: ")) << value;
  }
  expect_refused("'x", "not closed");
  expect_refused("\"x", "not closed");
}

TEST(EnvFile, RefusesWhatFollowsAQuote) {
  for (const char* value :
       {"'x'y", "'x' y", "'x''y'", "\"x\"y", "\"x\" \"y\"", "\"x\"'y'", "'x'#y", "\"x\"#y"}) {
    expect_refused(value, "follows the closing quote");
  }
}

TEST(EnvFile, RefusesAQuoteInsideABareValue) {
  for (const char* value : {"it's", "a \"b\"", "x'", "a=\"b\""})
    expect_refused(value, "must itself be quoted");
}

TEST(EnvFile, RefusesWhatIsNoNameAndValue) {
  for (const char* line : {"A", "=x", "A =x", " A=x", "a=x", "A-B=x", "A.B=x", "1A=x", "A B=x", "\xC3\x84=x",
                           "source x", "A: x", "A\t=x"}) {
    const auto file = parse_env_file("OK=1\n" + std::string(line) + "\n");

    EXPECT_EQ(code_of(file), "CONFIG_INVALID") << line;
    EXPECT_TRUE(message_of(file).starts_with("line 2: ")) << message_of(file);
  }
}

TEST(EnvFile, RefusesExport) {
  EXPECT_EQ(message_of(parse_env_file("export A=1")), "line 1: write NAME=value without 'export'");
  EXPECT_FALSE(parse_env_file("export\tA=1"));
}

TEST(EnvFile, RefusesANameThatIsSetTwice) {
  EXPECT_EQ(message_of(parse_env_file("A=1\nB=2\nA=1\n")), "line 3: A was already set on line 1");
  EXPECT_EQ(message_of(parse_env_file("A=\nA=\n")), "line 2: A was already set on line 1");
}

TEST(EnvFile, RefusesControlCharactersAndWhatIsNotUtf8) {
  for (const auto line : {"A=\x01"sv, "A=x\x1b[31m"sv, "A=\0"sv, "A=x\ry"sv, "A=\x7f"sv, "A='\v'"sv,
                          "A=\xff"sv, "A=caf\xE9"sv, "# \xC0\x80"sv, "A=\xED\xA0\x80"sv, "A=x\r\r"sv}) {
    EXPECT_EQ(message_of(parse_env_file(line)),
              "line 1: holds a control character or bytes that are not UTF-8");
  }
  EXPECT_EQ(read("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(read("a\tb"), "a\tb");
}

TEST(EnvFile, RepeatsNoValueInARefusal) {
  for (const char* text : {"A='s3cret", "A=$s3cret", "A=\"x\" s3cret", "s3cret", "A=s3cret\nA=s3cret"}) {
    EXPECT_EQ(message_of(parse_env_file(text)).find("s3cret"), std::string::npos) << text;
  }
}

TEST(EnvFile, HasAMebibyteAtMost) {
  std::string most = "A=";
  most += std::string(kMaxEnvFileBytes - most.size(), 'x');

  EXPECT_EQ(code_of(parse_env_file(most)), "OK");
  EXPECT_EQ(code_of(parse_env_file(most + "x")), "CONFIG_INVALID");
}

}  // namespace
}  // namespace repobridge::policy
