#include "policy/push_target.h"

#include <gtest/gtest.h>

#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using namespace std::string_view_literals;
using tests::code_of;
using tests::value_of;

bool allows(const char* prefix, const char* url) {
  return value_of(PushAllowance::parse(prefix)).allows(value_of(PushUrl::parse(url)));
}

TEST(PushUrl, IsOfOneOfFourForms) {
  const auto https = value_of(PushUrl::parse("https://Example.ORG/o/r.git"));
  const auto ssh = value_of(PushUrl::parse("ssh://git@example.org:2222/o/r.git"));
  const auto scp = value_of(PushUrl::parse("git@example.org:o/r.git"));
  const auto file = value_of(PushUrl::parse("file:///srv/r.git"));

  EXPECT_EQ(https.scheme(), PushUrl::Scheme::https);
  EXPECT_EQ(https.protocol(), "https");
  EXPECT_EQ(https.host(), "example.org");
  EXPECT_EQ(https.text(), "https://Example.ORG/o/r.git");
  EXPECT_EQ(ssh.scheme(), PushUrl::Scheme::ssh);
  EXPECT_EQ(ssh.protocol(), "ssh");
  EXPECT_EQ(ssh.host(), "example.org");
  EXPECT_EQ(scp.scheme(), PushUrl::Scheme::ssh);
  EXPECT_EQ(scp.host(), "example.org");
  EXPECT_EQ(file.scheme(), PushUrl::Scheme::file);
  EXPECT_EQ(file.protocol(), "file");
  EXPECT_EQ(file.host(), "");
}

TEST(PushUrl, MayHaveTheseParts) {
  for (const char* url :
       {"https://example.org/r", "https://example.org:8443/o/r", "https://user@example.org/o/r",
        "https://[::1]/o/r", "https://[2001:db8::1]:443/o/r", "ssh://example.org/o/r",
        "ssh://git@example.org/~user/r", "example.org:o/r", "git@example.org:/abs/r", "git@[::1]:o/r",
        "https://example.org/o/r/", "https://1.2.3.4/o/r", "https://localhost/r", "https://my_host.example/r",
        "https://example.org/o/r@v1", "https://example.org/o/a:b"}) {
    EXPECT_EQ(code_of(PushUrl::parse(url)), "OK") << url;
  }
}

class BadPushUrl : public testing::Test {
 protected:
  static void expect_refused(const std::vector<std::string_view>& urls) {
    for (const auto url : urls) {
      const auto refused = PushUrl::parse(url);
      EXPECT_EQ(code_of(refused), "REPO_PUSH_URL_INVALID") << url;
      EXPECT_EQ(tests::details_of(refused), nlohmann::json::object()) << url;
    }
  }
};

TEST_F(BadPushUrl, OfAnotherScheme) {
  expect_refused({"http://example.org/o/r", "git://example.org/o/r", "ftp://example.org/o/r",
                  "HTTPS://example.org/o/r", "Ssh://example.org/o/r", "git+ssh://example.org/o/r",
                  "ssh+git://example.org/o/r", "rsync://example.org/o/r", "javascript://example.org/o/r",
                  "://example.org/r"});
}

TEST_F(BadPushUrl, ThatNamesARemoteHelper) {
  expect_refused({"ext::sh", "ext::sh%20-c", "ext::a[:b", "fd::3", "https::https://example.org/o/r",
                  "file::/srv/r", "transport::address", "ext::[::1]:x", "git@host::[::1]"});
}

TEST_F(BadPushUrl, ThatIsALocalPath) {
  expect_refused({"/srv/r.git", "./r.git", "../r.git", "r.git", "", ".", "./a:b", "/a:b", "a/b:c"});
}

TEST_F(BadPushUrl, ThatIsTakenForAnOption) {
  expect_refused({"-oProxyCommand=x", "--upload-pack=x", "ssh://-oProxyCommand=x/r", "-x:y",
                  "git@-oProxyCommand=x:r", "https://-x/r", "ssh://-u@example.org/r", "example.org:-r",
                  "ssh://git@-h:22/r"});
}

TEST_F(BadPushUrl, WithAPassword) {
  expect_refused({"https://user:password@example.org/o/r", "https://:password@example.org/o/r",
                  "https://user:@example.org/o/r", "ssh://user:password@example.org/o/r",
                  "https://a@b@example.org/o/r", "https://@example.org/o/r", "ssh://us%65r@example.org/o/r"});
}

TEST_F(BadPushUrl, WithoutAPlainHost) {
  expect_refused({"https:///o/r", "https://.example.org/o/r", "https://exam ple.org/o/r",
                  "https://ex*ample/o/r", "https://[::1/o/r", "https://[]/o/r", "https://[zz]/o/r",
                  "https://[::1]x/o/r", "https://a,b/o/r", "https://exam\xC3\xA4ple.org/o/r", "git@:o/r",
                  ":o/r", "ssh://git@/o/r", "https://host\\@evil/r"});
}

TEST_F(BadPushUrl, WithoutAPortFromOneTo65535) {
  expect_refused({"https://example.org:0/r", "https://example.org:65536/r", "https://example.org:x/r",
                  "https://example.org:-1/r", "https://example.org:+1/r", "https://example.org:443x/r",
                  "https://example.org:99999999999/r", "https://example.org:4:4/r", "https://example.org:/r",
                  "ssh://git@example.org:/o/r", "ssh://g:/@example.org:22/o/r"});
}

TEST_F(BadPushUrl, WithAPathThatLeadsElsewhere) {
  expect_refused({"https://example.org", "https://example.org/a/../b", "https://example.org/..",
                  "https://example.org/./a", "https://example.org//a", "https://example.org/a//b",
                  "https://example.org/a/%2e%2e/b", "https://example.org/a?x=y", "https://example.org/a#b",
                  "git@example.org:", "git@example.org:../r", "git@example.org:a/../r", "file:///srv/../etc",
                  "https://example.org/a\\..\\b"});
}

TEST_F(BadPushUrl, WithBytesThatNoPlainUrlHas) {
  expect_refused({"https://example.org/a b", "https://example.org/a\nb", "https://example.org/a\tb",
                  "https://example.org/\0"sv, "https://example.org/\x7f", "https://example.org/\xC3\xA9",
                  " https://example.org/r", "https://example.org/r\r", "git@example.org:r\n"});
}

TEST_F(BadPushUrl, OfAFileThatNamesAHost) {
  expect_refused({"file://server/share/r.git", "file://localhost/r.git", "file://", "file://user@/r"});
}

TEST_F(BadPushUrl, LongerThanAKilobyte) {
  const std::string base = "https://example.org/";
  const auto of_size = [&](std::size_t size) { return base + std::string(size - base.size(), 'r'); };

  EXPECT_EQ(code_of(PushUrl::parse(of_size(1024))), "OK");
  expect_refused({of_size(1025)});
}

TEST(PushAllowance, AllowsWhatIsBelowItAndNotItself) {
  EXPECT_TRUE(allows("https://example.org/a/", "https://example.org/a/r"));
  EXPECT_TRUE(allows("https://example.org/a/", "https://example.org/a/b/c.git"));
  EXPECT_TRUE(allows("https://example.org/", "https://example.org/r"));
  EXPECT_FALSE(allows("https://example.org/a/", "https://example.org/a/"));
}

TEST(PushAllowance, ComparesPartsAndNeverTheText) {
  constexpr const char* kPrefix = "https://example.org/a/";

  for (const char* url :
       {"https://example.org.evil/a/r", "https://example.org/ab/r", "https://example.org/A/r",
        "https://evil/example.org/a/r", "https://user@example.org/a/r", "ssh://example.org/a/r",
        "https://example.org:8443/a/r", "https://evil.example.org/a/r", "https://example.org./a/r",
        "example.org:/a/r", "https://example.orga/r", "https://example.or/g/a/r"}) {
    EXPECT_FALSE(allows(kPrefix, url)) << url;
  }
}

TEST(PushAllowance, TakesHostsOfEitherCaseAndDefaultPortsForTheSame) {
  EXPECT_TRUE(allows("https://EXAMPLE.org/a/", "https://example.ORG/a/r"));
  EXPECT_TRUE(allows("https://example.org/a/", "https://example.org:443/a/r"));
  EXPECT_TRUE(allows("ssh://git@example.org:22/a/", "ssh://git@example.org/a/r"));
  EXPECT_FALSE(allows("ssh://git@example.org:443/a/", "ssh://git@example.org/a/r"));
}

TEST(PushAllowance, TakesTheUserExactly) {
  EXPECT_TRUE(allows("ssh://git@example.org/", "ssh://git@example.org/a/r"));
  for (const char* url :
       {"ssh://example.org/a/r", "ssh://root@example.org/a/r", "ssh://Git@example.org/a/r"}) {
    EXPECT_FALSE(allows("ssh://git@example.org/", url)) << url;
  }
}

TEST(PushAllowance, TellsARelativePathFromAnAbsoluteOne) {
  EXPECT_TRUE(allows("git@example.org:o/", "git@example.org:o/r"));
  EXPECT_TRUE(allows("git@example.org:/o/", "ssh://git@example.org/o/r"));
  EXPECT_FALSE(allows("git@example.org:o/", "ssh://git@example.org/o/r"));
  EXPECT_FALSE(allows("ssh://git@example.org/o/", "git@example.org:o/r"));
}

TEST(PushAllowance, EndsInASlashAndIsNoFile) {
  for (const char* prefix :
       {"https://example.org", "https://example.org/a", "git@example.org:o", "file:///srv/", "", "https://",
        "https://user:password@example.org/", "*", "https://*/"}) {
    EXPECT_EQ(code_of(PushAllowance::parse(prefix)), "REPO_PUSH_URL_INVALID") << prefix;
  }
}

TEST(PushBranch, IsTheLocalBranchsOwnWhereNoGlobIsSet) {
  EXPECT_TRUE(push_branch_allowed({}, "topic", "topic"));
  for (const char* upstream : {"main", "Topic", "topic2", "", "refs/heads/topic"}) {
    EXPECT_FALSE(push_branch_allowed({}, "topic", upstream)) << upstream;
  }
}

TEST(PushBranch, MatchesAGlobWholeAndExactly) {
  const std::vector<std::string> globs{"main", "release/*"};

  EXPECT_TRUE(push_branch_allowed(globs, "topic", "main"));
  EXPECT_TRUE(push_branch_allowed(globs, "topic", "release/1.0"));
  EXPECT_TRUE(push_branch_allowed(globs, "topic", "release/a/b"));
  for (const char* upstream : {"topic", "Main", "main2", "xmain", "release", "Release/1"}) {
    EXPECT_FALSE(push_branch_allowed(globs, "topic", upstream)) << upstream;
  }
}

}  // namespace
}  // namespace repobridge::policy
