#include "bridge/wire/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/mcp/samples.h"
#include "tests/unit/mcp/temp_directory.h"

namespace repobridge::mcp {
namespace {

class FrontPolicyFile : public testing::Test {
 protected:
  static std::string good() { return policy::to_json(sample_policy()).dump(); }
  static std::string code_of(const std::string& path) {
    const auto policy = wire::load_front_policy(path);
    return policy ? "" : policy.error().code;
  }
  TempDirectory directory;
};

TEST_F(FrontPolicyFile, IsReadWhole) {
  const auto policy = wire::load_front_policy(directory.write("front.json", good()));

  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_EQ(policy->digest, sample_policy().digest);
  EXPECT_EQ(policy->workdirs.size(), 2U);
}

TEST_F(FrontPolicyFile, IsNotLookedForBehindALink) {
  directory.write("front.json", good());
  ASSERT_EQ(::symlink("front.json", (directory / "link").c_str()), 0);

  EXPECT_EQ(code_of(directory / "link"), "CONFIG_UNREADABLE");
}

TEST_F(FrontPolicyFile, MustBeThere) { EXPECT_EQ(code_of(directory / "none"), "CONFIG_UNREADABLE"); }

TEST_F(FrontPolicyFile, MustBeARegularFile) {
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);

  EXPECT_EQ(code_of(directory / "fifo"), "CONFIG_UNREADABLE");
  EXPECT_EQ(code_of(directory / "."), "CONFIG_UNREADABLE");
}

TEST_F(FrontPolicyFile, MustNotBeWritableByOthers) {
  const auto path = directory.write("front.json", good());
  ASSERT_EQ(::chmod(path.c_str(), 0620), 0);

  EXPECT_EQ(code_of(path), "CONFIG_UNREADABLE");
}

TEST_F(FrontPolicyFile, MustStandWhereOthersCannotReplaceIt) {
  ASSERT_EQ(::mkdir((directory / "open").c_str(), 0700), 0);
  const auto path = directory.write("open/front.json", good());
  ASSERT_EQ(::chmod((directory / "open").c_str(), 0777), 0);

  EXPECT_EQ(code_of(path), "CONFIG_UNREADABLE");
}

TEST_F(FrontPolicyFile, MustBeOneJsonDocumentThatIsKnownWhole) {
  EXPECT_EQ(code_of(directory.write("a", "{")), "CONFIG_INVALID");
  EXPECT_EQ(code_of(directory.write("b", "{}")), "CONFIG_INVALID");
  auto more = policy::to_json(sample_policy());
  more["extra"] = 1;
  const auto refused = wire::load_front_policy(directory.write("c", more.dump()));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("'extra'"), std::string::npos);
}

}  // namespace
}  // namespace repobridge::mcp
