#include "policy/commit_message.h"

#include <gtest/gtest.h>

#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::code_of;
using tests::message_of;

struct Stored {
  std::string_view sent;
  std::string_view stored;
};

void check_commit_message(const std::vector<Stored>& cases) {
  for (const auto& param : cases) {
    const auto message = checked_commit_message(param.sent);

    ASSERT_TRUE(message) << message.error().message;
    EXPECT_EQ(*message, param.stored);
    EXPECT_EQ(checked_commit_message(*message).value(), *message) << "a second time gives something else";
  }
}

TEST(CommitMessage, EndsWithOneNewline) {
  check_commit_message({{"a", "a\n"}, {"a\n", "a\n"}, {"a\n\n\n", "a\n"}, {"a \t\n \n", "a\n"}});
}

TEST(CommitMessage, BeginsWithItsFirstLineThatSaysSomething) {
  check_commit_message({{"\n\na\n", "a\n"}, {" \n\t\na", "a\n"}, {"\n  a", "  a\n"}, {"  a", "  a\n"}});
}

TEST(CommitMessage, KeepsBlankLinesAndTabsInside) {
  check_commit_message({{"a\n\n\nb", "a\n\n\nb\n"}, {"a \n b", "a \n b\n"}, {"a\tb", "a\tb\n"}});
}

TEST(CommitMessage, HasLineFeedsOnly) {
  check_commit_message({{"a\r\nb\r\n", "a\nb\n"}, {"\r\n\r\na", "a\n"}});
}

TEST(CommitMessage, KeepsLinesThatBeginWithAHash) {
  check_commit_message(
      {{"# a heading\n\n#123", "# a heading\n\n#123\n"},
       {"a\n# ------------------------ >8 ---\nb", "a\n# ------------------------ >8 ---\nb\n"}});
}

TEST(CommitMessage, MayBeInAnyLanguage) {
  check_commit_message({{"\xC4\x90\xE1\xBB\x95i \xE2\x9C\x93", "\xC4\x90\xE1\xBB\x95i \xE2\x9C\x93\n"}});
}

TEST(CommitMessageRefusal, IsForABlankMessage) {
  for (const char* text : {"", " ", "\n\n", "\t \r\n "}) {
    EXPECT_EQ(code_of(checked_commit_message(text)), "INVALID_COMMIT_MESSAGE");
    EXPECT_NE(message_of(checked_commit_message(text)).find("blank"), std::string::npos);
  }
}

TEST(CommitMessageRefusal, IsForEveryControlCharacterButNewlineAndTab) {
  for (int value = 0; value < 0x80; ++value) {
    const std::string text = {'a', static_cast<char>(value), 'b'};
    const bool refused = (value < 0x20 && value != '\n' && value != '\t') || value == 0x7F;

    EXPECT_EQ(code_of(checked_commit_message(text)), refused ? "INVALID_COMMIT_MESSAGE" : "OK") << value;
  }
}

TEST(CommitMessageRefusal, SaysAtWhichByteOfWhatWasSent) {
  const auto message = message_of(checked_commit_message("one\r\ntwo\r\n\x1b[31m"));

  EXPECT_NE(message.find("character 27 at byte 10;"), std::string::npos) << message;
  EXPECT_NE(message_of(checked_commit_message("a\rb")).find("character 13 at byte 1;"), std::string::npos);
}

TEST(CommitMessageRefusal, IsForBytesThatAreNotUtf8) {
  for (const char* text : {"caf\xE9", "\xC3", "a\xED\xA0\x80"}) {
    EXPECT_EQ(message_of(checked_commit_message(text)), "the message is not UTF-8");
  }
}

TEST(CommitMessageRefusal, ComesOneByteAfterTheLimit) {
  const auto of_size = [](std::size_t size) { return std::string(size, 'x'); };

  EXPECT_EQ(code_of(checked_commit_message(of_size(kMaxMessageBytes - 1))), "OK");
  EXPECT_EQ(code_of(checked_commit_message(of_size(kMaxMessageBytes - 1) + "\n")), "OK");
  // With the newline that ends it, it would be a byte too long.
  EXPECT_EQ(code_of(checked_commit_message(of_size(kMaxMessageBytes))), "INVALID_COMMIT_MESSAGE");
  EXPECT_EQ(code_of(checked_commit_message(of_size(kMaxMessageBytes + 1))), "INVALID_COMMIT_MESSAGE");
  EXPECT_EQ(code_of(checked_commit_message(std::string(kMaxMessageBytes + 1, '\n'))),
            "INVALID_COMMIT_MESSAGE");
}

}  // namespace
}  // namespace repobridge::policy
