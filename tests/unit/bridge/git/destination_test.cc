#include "bridge/git/destination.h"

#include <gtest/gtest.h>

namespace repobridge::git {
namespace {

policy::PushUrl url(std::string_view text) { return policy::PushUrl::parse(text).value(); }

std::string code_of(const Result<void>& result) { return result ? "" : result.error().code; }

TEST(Destination, IsReadFromTheListingOfRemotes) {
  const auto read = parse_destination(
      "other\thttps://other.example.org/ (fetch)\n"
      "other\thttps://other.example.org/ (push)\n"
      "up\thttps://example.org/a.git (fetch)\n"
      "up\tgit@example.org:a.git (push)\n",
      "up");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->fetch, "https://example.org/a.git");
  EXPECT_EQ(read->push, "git@example.org:a.git");
}

TEST(Destination, MustBeThereOnceEachWay) {
  for (const char* listing : {"", "up\tx (fetch)\n", "up\tx (push)\n", "upper\tx (fetch)\nupper\tx (push)\n",
                              "up\tx (fetch)\nup\tx (push)\nup\ty (push)\n", "up\n", "up\t (push)"}) {
    const auto read = parse_destination(listing, "up");
    ASSERT_FALSE(read) << listing;
    EXPECT_EQ(read.error().code, "REPO_PUSH_FAILED");
  }
}

TEST(Destination, MustBeAllowedExactlyOrByAPrefix) {
  policy::BridgePolicy policy;
  policy::Workdir workdir;
  EXPECT_EQ(code_of(check_push_url(policy, workdir, url("https://example.org/a"), false)),
            "REPO_PUSH_NOT_ALLOWED");
  workdir.push.url = url("file:///srv/a.git");
  policy.push_allowed.push_back(policy::PushAllowance::parse("https://example.org/team/").value());
  for (const char* allowed : {"file:///srv/a.git", "https://example.org/team/a.git"}) {
    EXPECT_EQ(code_of(check_push_url(policy, workdir, url(allowed), false)), "") << allowed;
  }
  for (const char* refused : {"file:///srv/b.git", "https://example.org/a.git",
                              "ssh://example.org/team/a.git", "https://me@example.org/team/a.git"}) {
    EXPECT_EQ(code_of(check_push_url(policy, workdir, url(refused), false)), "REPO_PUSH_NOT_ALLOWED")
        << refused;
  }
}

TEST(Destination, SaysWhenTheUsersConfigurationMadeIt) {
  const auto refused = check_push_url({}, {}, url("https://example.org/a"), true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("insteadOf"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("example.org"), std::string::npos);
}

TEST(Destination, HasABranchThatIsAllowedToo) {
  policy::Workdir workdir;
  EXPECT_EQ(code_of(check_push_branch(workdir, "main", "main")), "");
  EXPECT_EQ(code_of(check_push_branch(workdir, "topic", "main")), "REPO_PUSH_BRANCH_NOT_ALLOWED");
  workdir.push.branches = {"topic/*"};
  EXPECT_EQ(code_of(check_push_branch(workdir, "a", "topic/a")), "");
  EXPECT_EQ(code_of(check_push_branch(workdir, "main", "main")), "REPO_PUSH_BRANCH_NOT_ALLOWED");
}

}  // namespace
}  // namespace repobridge::git
