#include "policy/pins.h"

#include <gtest/gtest.h>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::argument_of;
using tests::code_of;
using tests::detail_of;
using tests::message_of;
using tests::value_of;

const std::string kDigest(64, 'a');
constexpr const char* kVariable = "WORKDIR_01_REPO_ACTIONS_JSON";

Result<Pins> read(const Json& integrity, Digests digests = Digests::required) {
  const Json action{{"integrity", integrity}};
  RB_TRY(auto fields,
         Fields::of(action, "check", codes::kConfigInvalidSetting, std::string(kVariable) + ": "));
  return read_pins(fields, kVariable, digests);
}

RepoPath path(std::string_view bytes) { return value_of(RepoPath::from_bytes(bytes)); }

TEST(Pins, AreOfThreeKinds) {
  const auto pins = value_of(read({{"check.py", kDigest}, {"tests/", kDigest}, {"conftest.py", "absent"}}));

  EXPECT_EQ(pins.at(path("check.py")), (Pin{PinKind::file, kDigest}));
  EXPECT_EQ(pins.at(path("tests")), (Pin{PinKind::directory, kDigest}));
  EXPECT_EQ(pins.at(path("conftest.py")), (Pin{PinKind::absent, ""}));
}

TEST(Pins, AreWrittenAsTheyAreRead) {
  const Json integrity{
      {"check.py", kDigest}, {"tests/", kDigest}, {"conftest.py", "absent"}, {"\"caf\\351/\"", kDigest}};

  const auto pins = value_of(read(integrity));

  EXPECT_EQ(pins.at(path("caf\xe9")).kind, PinKind::directory);
  EXPECT_EQ(to_json(pins), integrity);
}

TEST(Pins, NameNothingTwiceNotEvenAsAnotherKind) {
  EXPECT_NE(message_of(read({{"a", kDigest}, {"a/", kDigest}})).find("names one file twice"),
            std::string::npos);
  EXPECT_NE(message_of(read({{"a", "absent"}, {"\"a\"", kDigest}})).find("twice"), std::string::npos);
}

TEST(Pins, RefuseWhatIsNoPin) {
  for (const auto& [name, value] : std::vector<std::pair<const char*, Json>>{{"a", "Absent"},
                                                                             {"a", "absent "},
                                                                             {"a", true},
                                                                             {"a/", "absent"},
                                                                             {"a//", kDigest},
                                                                             {"/", kDigest},
                                                                             {"./", kDigest},
                                                                             {"../", kDigest},
                                                                             {".git/", kDigest},
                                                                             {".git", "absent"},
                                                                             {"\"a", kDigest}}) {
    const auto pins = read({{name, value}});

    EXPECT_EQ(code_of(pins), "CONFIG_INVALID") << name << " " << value;
    EXPECT_EQ(argument_of(pins), "check.integrity");
    EXPECT_EQ(detail_of(pins, "path"), name);
  }
}

TEST(Pins, KeepTheirKindWithAPlaceholder) {
  const auto pins =
      value_of(read({{"a", ""}, {"b/", "paste"}, {"c", "absent"}}, Digests::placeholders_allowed));

  EXPECT_EQ(pins.at(path("a")).kind, PinKind::file);
  EXPECT_EQ(pins.at(path("b")).kind, PinKind::directory);
  EXPECT_EQ(pins.at(path("c")).kind, PinKind::absent);
}

TEST(Pins, CoverWhatLiesInAPinnedDirectory) {
  const auto pins = value_of(read({{"a/b/", kDigest}, {"file", kDigest}, {"gone", "absent"}}));

  for (const char* covered : {"a/b", "a/b/c", "a/b/c/d", "file", "gone"}) {
    EXPECT_TRUE(covers(pins, path(covered))) << covered;
  }
  for (const char* not_covered : {"a", "a/bc", "b", "file/x", "gone/x"}) {
    EXPECT_FALSE(covers(pins, path(not_covered))) << not_covered;
  }
}

}  // namespace
}  // namespace repobridge::policy
