#include "policy/repo_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "policy/text.h"
#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using namespace std::string_view_literals;
using tests::code_of;
using tests::detail_of;
using tests::value_of;

std::string code_for(std::string_view text) { return code_of(RepoPath::parse(text)); }

TEST(RepoPath, IsTheBytesItWasMadeOf) {
  const auto path = value_of(RepoPath::parse("src/a b/\xC3\xA9.txt"));

  EXPECT_EQ(path.bytes(), "src/a b/\xC3\xA9.txt");
  EXPECT_EQ(path.text(), path.bytes());
  EXPECT_EQ(path.components(), (std::vector<std::string>{"src", "a b", "\xC3\xA9.txt"}));
  EXPECT_EQ(path.parent(), "src/a b");
  EXPECT_EQ(path.name(), "\xC3\xA9.txt");
}

TEST(RepoPath, HasNoParentAtTheTop) {
  const auto path = value_of(RepoPath::parse("README"));

  EXPECT_EQ(path.parent(), "");
  EXPECT_EQ(path.name(), "README");
}

void check_allowed_path(const std::vector<std::string_view>& cases) {
  for (const auto& param : cases) {
    const auto path = RepoPath::parse(param);

    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(path->bytes(), param);
  }
}

// Odd names that are ordinary files to git.
TEST(RepoPath, MayBeAnOddNameThatIsAnOrdinaryFileToGit) {
  check_allowed_path({"a",    "-rf",     "~user/x", "a~",     "*",       "a\\b",          "a:b",  " ",
                      "a ",   "...",     "..a",     "a..b/c", ".hidden", "x -> y",        "a\tb", "a\nb",
                      "a\"b", "nul.txt", "con",     "$HOME",  "%2e%2e",  "a\x1b]0;x\x07", "C:",   ":(glob)**",
                      "@{u}"});
}

TEST(RepoPath, MayBeNearlyDotGit) {
  check_allowed_path({"git", ".gitignore", ".gitmodules", ".github/workflows/ci.yml", ".gitx", "x.git",
                      ".git_", ".git-backup/config", "a.git/config", "git~2", "git~10", "..git", "_git",
                      ".gi", ".\xC7\xA5it"});
}

struct RefusedPath {
  std::string_view path;
  std::string_view code;
};

void check_refused(const std::vector<RefusedPath>& cases) {
  for (const auto& param : cases) {
    EXPECT_EQ(code_for(param.path), param.code) << param.path;
  }
}

TEST(RepoPath, RefusesEveryWayOutOfTheWorkdir) {
  check_refused({{"..", "PATH_OUTSIDE_WORKDIR"},
                 {"../x", "PATH_OUTSIDE_WORKDIR"},
                 {"../../.ssh/id_rsa", "PATH_OUTSIDE_WORKDIR"},
                 {"a/../b", "PATH_OUTSIDE_WORKDIR"},
                 {"a/..", "PATH_OUTSIDE_WORKDIR"},
                 {"/", "PATH_OUTSIDE_WORKDIR"},
                 {"/etc/passwd", "PATH_OUTSIDE_WORKDIR"},
                 {"//x", "PATH_OUTSIDE_WORKDIR"},
                 {"~", "PATH_OUTSIDE_WORKDIR"},
                 {"~/x", "PATH_OUTSIDE_WORKDIR"},
                 {"\"\\056\\056/x\"", "PATH_OUTSIDE_WORKDIR"},
                 {"\"/etc/passwd\"", "PATH_OUTSIDE_WORKDIR"}});
}

TEST(RepoPath, HasOneSpellingForAFile) {
  check_refused({{"", "INVALID_PATH"},
                 {".", "INVALID_PATH"},
                 {"./a", "INVALID_PATH"},
                 {"a/.", "INVALID_PATH"},
                 {"a/./b", "INVALID_PATH"},
                 {"a//b", "INVALID_PATH"},
                 {"a/", "INVALID_PATH"},
                 {"\"\"", "INVALID_PATH"},
                 {"a\0b"sv, "INVALID_PATH"},
                 {"\0"sv, "INVALID_PATH"},
                 {"a\0/../.."sv, "INVALID_PATH"},
                 {"\"a\\000b\"", "INVALID_PATH"}});
}

// What git, NTFS or HFS+ would open as ".git".
void check_dot_git(const std::vector<std::string_view>& cases) {
  for (const auto& param : cases) {
    const std::string name(param);

    EXPECT_TRUE(is_dot_git(name));
    for (const auto& path : {name, name + "/config", "sub/" + name, "sub/" + name + "/hooks/pre-commit"}) {
      EXPECT_EQ(code_of(RepoPath::from_bytes(path)), "DENIED_PATH") << path;
    }
  }
}

TEST(RepoPath, RefusesDotGitInEitherCase) { check_dot_git({".git", ".GIT", ".Git", ".giT"}); }

TEST(RepoPath, RefusesDotGitAsNtfsReadsIt) {
  check_dot_git({".git ", ".git.", ".git. . .", ".GIT...", "git~1", "GIT~1", "git~1.", "git~1 ",
                 ".git:", ".git::$INDEX_ALLOCATION", ".git:stream", ".git . :x", "git~1:x", ".git\\config",
                 ".git \\x", "a\\.git", "a\\.GIT\\hooks", "git~1\\config"});
}

TEST(RepoPath, RefusesDotGitAsHfsReadsIt) {
  check_dot_git({".g\xe2\x80\x8cit", "\xe2\x80\x8d.git", ".git\xe2\x80\x8e", ".\xe2\x80\x8fgit",
                 ".gi\xe2\x80\xaat", ".gi\xe2\x80\xabt", ".gi\xe2\x80\xact", ".gi\xe2\x80\xadt",
                 ".gi\xe2\x80\xaet", ".gi\xe2\x81\xaat", ".gi\xe2\x81\xabt", ".gi\xe2\x81\xact",
                 ".gi\xe2\x81\xadt", ".gi\xe2\x81\xaet", ".gi\xe2\x81\xaft", ".gi\xef\xbb\xbft",
                 "\xef\xbb\xbf.\xe2\x80\x8cG\xe2\x80\x8cI\xe2\x80\x8cT\xe2\x80\x8c"});
}

// Checked with git 2.39 and core.protectHFS: it refuses these, and takes what only holds such a byte inside.
TEST(RepoPath, RefusesDotGitBeforeBytesThatAreNotUtf8) {
  check_dot_git({".git\xff", ".GIT\x80", ".git\xff.txt", ".gi\xe2\x80\x8ct\xfe"});
  check_allowed_path({".g\xffit", "\xff.git", ".gi\xff"});
}

TEST(RepoPath, CountsBytesToItsLimitAndNotOneMore) {
  const auto of_size = [](std::size_t size) {
    std::string path;
    while (path.size() + 101 < size) path += std::string(100, 'd') + "/";
    return path + std::string(size - path.size(), 'f');
  };

  EXPECT_EQ(code_for(of_size(kMaxPathBytes)), "OK");
  EXPECT_EQ(code_for(of_size(kMaxPathBytes + 1)), "INVALID_PATH");
  EXPECT_EQ(code_for(std::string(255, 'x')), "OK");
  EXPECT_EQ(code_for(std::string(256, 'x')), "INVALID_PATH");
  EXPECT_EQ(code_for("a/" + std::string(256, 'x') + "/b"), "INVALID_PATH");
}

TEST(RepoPath, RepeatsWhatWasNamedInItsDetails) {
  EXPECT_EQ(detail_of(RepoPath::parse("../x"), "path"), "../x");
  EXPECT_EQ(detail_of(RepoPath::parse(".git/config"), "path"), ".git/config");
  EXPECT_EQ(detail_of(RepoPath::from_bytes("../\xff"), "path"), "\"../\\377\"");
  EXPECT_LE(detail_of(RepoPath::parse(std::string(100000, 'x')), "path").size(), kMaxPathBytes);
}

TEST(RepoPath, SaysNothingOfThePathInItsMessage) {
  for (const char* path : {"../secret", "secret//x", "/secret", ".git/secret", "\"secret"}) {
    EXPECT_EQ(tests::message_of(RepoPath::parse(path)).find("secret"), std::string::npos);
  }
}

TEST(RepoPath, IsOrderedAndEqualByItsBytes) {
  EXPECT_EQ(value_of(RepoPath::parse("a")), value_of(RepoPath::parse("\"a\"")));
  EXPECT_LT(value_of(RepoPath::parse("a")), value_of(RepoPath::parse("b")));
  EXPECT_NE(value_of(RepoPath::parse("a")), value_of(RepoPath::parse("A")));
}

// --- C quoting ---------------------------------------------------------------------------------------------

struct Quoting {
  std::string_view bytes;
  std::string_view quoted;
};

void check_c_quoting(const std::vector<Quoting>& cases) {
  for (const auto& param : cases) {
    const auto& [bytes, quoted] = param;

    EXPECT_EQ(c_quoted(bytes), quoted);
    EXPECT_EQ(value_of(c_unquoted(quoted)), bytes);
  }
}

// As git 2.39 prints these names with core.quotePath=true.
TEST(CQuoting, IsThatOfGitBothWays) {
  check_c_quoting({{"", R"("")"},
                   {"plain", R"("plain")"},
                   {"a\"b", R"("a\"b")"},
                   {"a\\b", R"("a\\b")"},
                   {"\a\b\t\n\v\f\r", R"("\a\b\t\n\v\f\r")"},
                   {"\x01\x1b\x7f", R"("\001\033\177")"},
                   {"caf\xC3\xA9", R"("caf\303\251")"},
                   {"\xff", R"("\377")"}});
}

void check_not_c_quoted(const std::vector<std::string_view>& cases) {
  for (const auto& param : cases) {
    EXPECT_EQ(code_of(c_unquoted(param)), "INVALID_PATH");
    EXPECT_FALSE(RepoPath::parse(param).has_value() && param.starts_with('"'));
  }
}

TEST(CQuoting, RefusesAMalformedForm) {
  check_not_c_quoted({"", "a", "\"", "\"a", "a\"", "\"a\"b", "\"a\"b\"", "\"\\\"", "\"\\x41\"", "\"\\8\"",
                      "\"\\1\"", "\"\\12\"", "\"\\400\"", "\"\\777\"", "\"\\128\"", "\"\\", "\"a\\\"",
                      "'a'"});
}

TEST(PathText, QuotesOnlyWhatItMust) {
  EXPECT_EQ(path_text("a b\tc"), "a b\tc");
  EXPECT_EQ(path_text("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(path_text("caf\xE9"), "\"caf\\351\"");
  EXPECT_EQ(path_text("\"x"), "\"\\\"x\"");
  EXPECT_EQ(path_text("x\""), "x\"");
}

TEST(PathText, IsTakenBackWhateverTheBytes) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same paths each time
  std::uniform_int_distribution<int> any_byte(1, 255);
  std::uniform_int_distribution<std::size_t> any_length(1, 40);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes(any_length(random), '\0');
    for (auto& c : bytes) c = static_cast<char>(any_byte(random));
    const auto path = RepoPath::from_bytes(bytes);
    if (!path) continue;

    ++accepted;
    ASSERT_TRUE(is_utf8(path->text()));
    ASSERT_EQ(value_of(RepoPath::parse(path->text())), *path);
  }
  EXPECT_GT(accepted, 2000);
}

TEST(RepoPath, StaysBeneathItsRootAfterJoining) {
  std::mt19937 random(2);  // NOLINT(cert-msc51-cpp): the same paths each time
  const std::string alphabet = "./.a~\\\"";
  std::uniform_int_distribution<std::size_t> any_character(0, alphabet.size() - 1);
  std::uniform_int_distribution<std::size_t> any_length(1, 12);
  for (int i = 0; i < 10000; ++i) {
    std::string bytes(any_length(random), '\0');
    for (auto& c : bytes) c = alphabet[any_character(random)];
    const auto path = RepoPath::from_bytes(bytes);
    if (!path) continue;

    const std::filesystem::path root = "/root/of/it";
    const auto joined = (root / path->bytes()).lexically_normal();
    ASSERT_EQ(joined.string(), root.string() + "/" + path->bytes()) << bytes;
  }
}

}  // namespace
}  // namespace repobridge::policy
