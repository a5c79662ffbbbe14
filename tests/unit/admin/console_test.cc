#include "bridge/admin/console.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policy/codes.h"

namespace repobridge::admin {
namespace {

TEST(Shown, LeavesHarmlessTextAlone) {
  EXPECT_EQ(shown("src/main.cc"), "src/main.cc");
  EXPECT_EQ(shown("grüße/日本.md"), "grüße/日本.md");
}

TEST(Shown, MakesWhatDeceivesVisible) {
  EXPECT_EQ(shown("a\x1b[2Jb"), "\"a\\033[2Jb\"");
  EXPECT_EQ(shown("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(shown("a\x7f"), "\"a\\177\"");
  EXPECT_EQ(shown("a\xc2\x9b"), "\"a\\302\\233\"");
  EXPECT_EQ(shown("a\xe2\x80\xae"), "\"a\\342\\200\\256\"");
  EXPECT_EQ(shown("\xff"), "\"\\377\"");
}

TEST(RefusalLine, NamesCommandReasonPathAndCode) {
  const auto refused = policy::refuse(policy::codes::kPathNotFound, "a pinned file is missing",
                                      nlohmann::json{{"path", "tools/a\nb"}});

  EXPECT_EQ(refusal_line({}, "repobridge pin", refused.value()),
            "repobridge pin: a pinned file is missing: '\"tools/a\\nb\"' [PATH_NOT_FOUND]\n");
}

TEST(RefusalLine, HasColourOnlyWhereTheStreamHas) {
  const Error error{.code = "X", .message = "m"};

  EXPECT_EQ(refusal_line({.terminal = true, .colour = true}, "c", error), "\x1b[1mc\x1b[0m: m [X]\n");
  EXPECT_EQ(refusal_line({.terminal = true, .colour = false}, "c", error), "c: m [X]\n");
}

TEST(Table, AlignsByCharacters) {
  EXPECT_EQ(table({{"NAME", "X"}, {"grüße1", "1"}, {"a", "2"}}, {}), "NAME    X\ngrüße1  1\na       2\n");
}

}  // namespace
}  // namespace repobridge::admin
