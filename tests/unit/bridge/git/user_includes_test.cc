#include "bridge/git/user_includes.h"

#include "tests/unit/admin/scratch.h"

namespace repobridge::git {
namespace {

class UserIncludesTest : public admin::Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    home_ = directory("home");
    places_ = {.home = home_, .files = {at("system"), home_ + "/.gitconfig"}};
    here_ = {.git_directory = home_ + "/work/app/.git",
             .branch = "topic/a",
             .remote_urls = {"https://example.org/team/app.git", "git@mirror.example.org:app.git"}};
  }

  void system(std::string_view text) { file("system", text); }
  void user(std::string_view text) {
    (void)::unlink((home_ + "/.gitconfig").c_str());
    file("home/.gitconfig", text);
  }

  // Of user.email, the last one; "-" when there is none, or the code of the refusal.
  std::string email() {
    const auto entries = read_user_entries(places_, here_);
    if (!entries) return entries.error().code;
    std::string found = "-";
    for (const auto& entry : entries->entries) {
      if (entry.key == "user.email") found = entry.value.value_or("true");
    }
    return found;
  }

  // Whether an include under the condition is followed.
  bool holds(const std::string& condition) {
    (void)platform::publish_file(home_ + "/included", "[user]\n\temail = included\n", 0600);
    user("[includeIf \"" + condition + "\"]\n\tpath = included\n");
    return email() == "included";
  }

  std::string home_;
  UserConfigPlaces places_;
  Situation here_;
};

TEST_F(UserIncludesTest, IsEmptyWithoutFiles) { EXPECT_EQ(email(), "-"); }

TEST_F(UserIncludesTest, TakesTheLaterFileAndEntry) {
  system("[user]\n\temail = system\n");
  EXPECT_EQ(email(), "system");
  user("[user]\n\temail = first\n[user]\n\temail = user\n");
  EXPECT_EQ(email(), "user");
}

TEST_F(UserIncludesTest, PutsAnIncludeInItsPlace) {
  file("home/included", "[user]\n\temail = included\n");
  user("[user]\n\temail = before\n[include]\n\tpath = included\n");
  EXPECT_EQ(email(), "included");
  user("[include]\n\tpath = ~/included\n[user]\n\temail = after\n");
  EXPECT_EQ(email(), "after");
}

TEST_F(UserIncludesTest, FollowsIncludesOfIncludesAndLinks) {
  directory("home/more");
  file("home/more/second", "[user]\n\temail = second\n");
  file("home/more/first", "[include]\n\tpath = second\n");
  link("home/link", at("home/more/first"));
  user("[include]\n\tpath = more/first\n[include]\n\tpath = missing\n");
  EXPECT_EQ(email(), "second");
}

TEST_F(UserIncludesTest, KnowsConditionsOnTheDirectory) {
  for (const std::string& condition :
       {"gitdir:" + home_ + "/work/", std::string("gitdir:~/work/"), std::string("gitdir:~/work/**"),
        std::string("gitdir:app/"), std::string("gitdir:app/.git"), std::string("gitdir:./work/app/"),
        std::string("gitdir:./"), std::string("gitdir/i:~/WORK/"), std::string("gitdir/i:./Work/"),
        std::string("gitdir:**/w*k/**"), std::string("gitdir:")}) {
    EXPECT_TRUE(holds(condition)) << condition;
  }
  for (const std::string& condition :
       {std::string("gitdir:~/play/"), std::string("gitdir:~/WORK/"), std::string("gitdir:~/work"),
        std::string("gitdir:work"), std::string("gitdir:./app/"), std::string("gitdir:~/work/*")}) {
    EXPECT_FALSE(holds(condition)) << condition;
  }
}

TEST_F(UserIncludesTest, TakesTheConfigurationsOwnDirectoryLiterally) {
  const auto odd = directory("home/o*d");
  directory("home/oxd");
  here_.git_directory = home_ + "/oxd/.git";
  file("home/o*d/config", "[includeIf \"gitdir:./\"]\n\tpath = found\n");
  file("home/o*d/found", "[user]\n\temail = found\n");
  user("[include]\n\tpath = \"" + odd + "/config\"\n");
  EXPECT_EQ(email(), "-");
  here_.git_directory = odd + "/.git";
  EXPECT_EQ(email(), "found");
}

TEST_F(UserIncludesTest, KnowsConditionsOnTheBranch) {
  for (const char* condition : {"onbranch:topic/a", "onbranch:topic/", "onbranch:topic/*", "onbranch:**"}) {
    EXPECT_TRUE(holds(condition)) << condition;
  }
  for (const char* condition : {"onbranch:topic", "onbranch:main", "onbranch:*", "onbranch:"}) {
    EXPECT_FALSE(holds(condition)) << condition;
  }
  here_.branch = "";
  EXPECT_FALSE(holds("onbranch:**"));
}

TEST_F(UserIncludesTest, KnowsConditionsOnAnyRemotesUrl) {
  for (const char* condition :
       {"hasconfig:remote.*.url:https://example.org/team/**", "hasconfig:remote.*.url:https://example.org/**",
        "hasconfig:remote.*.url:git@mirror.example.org:*", "hasconfig:remote.*.url:**/app.git"}) {
    EXPECT_TRUE(holds(condition)) << condition;
  }
  for (const char* condition :
       {"hasconfig:remote.*.url:https://example.org/*", "hasconfig:remote.*.url:https://example.org",
        "hasconfig:remote.*.pushurl:**", "hasconfig:remote.origin.url:**", "hasconfig:user.name:**"}) {
    EXPECT_FALSE(holds(condition)) << condition;
  }
}

TEST_F(UserIncludesTest, CountsTheUsersOwnRemotes) {
  here_.remote_urls.clear();
  file("home/included", "[user]\n\temail = included\n");
  user(
      "[includeIf \"hasconfig:remote.*.url:https://own.example.org/**\"]\n\tpath = included\n"
      "[remote \"own\"]\n\turl = https://own.example.org/a.git\n");
  EXPECT_EQ(email(), "included");
}

TEST_F(UserIncludesTest, TakesNoOtherConditionForTrue) {
  EXPECT_FALSE(holds("unknown:x"));
  EXPECT_FALSE(holds("GITDIR:**"));
}

TEST_F(UserIncludesTest, IsRefusedWhereGitStops) {
  file("home/broken", "[user\n");
  directory("home/directory");
  for (const char* text : {"[user\n", "[include]\n\tpath = broken\n", "[include]\n\tpath\n",
                           "[include]\n\tpath = directory\n", "[include]\n\tpath = .gitconfig\n"}) {
    user(text);
    EXPECT_EQ(email(), "GIT_USER_CONFIG_INVALID") << text;
  }
}

TEST_F(UserIncludesTest, IsRefusedWhereAPathIsNotUnderstood) {
  for (const char* text : {"[include]\n\tpath = ~other/config\n", "[include]\n\tpath = %(prefix)/config\n",
                           "[includeIf \"gitdir:~other/\"]\n\tpath = x\n"}) {
    user(text);
    EXPECT_EQ(email(), "GIT_USER_CONFIG_INVALID") << text;
  }
}

TEST_F(UserIncludesTest, SaysWhatGitWouldMissElsewhere) {
  file("home/by-place", "[includeIf \"gitdir/i:~/WORK/app/\"]\n\tpath = nested\n");
  file("home/nested", "");
  file("home/by-branch", "[includeIf \"gitdir:**/app/.git\"]\n\tpath = below-branch\n");
  file("home/below-branch", "");
  user(
      "[includeIf \"onbranch:topic/\"]\n\tpath = by-branch\n"
      "[includeIf \"gitdir:~/work/\"]\n\tpath = by-place\n"
      "[includeIf \"gitdir:~/elsewhere/\"]\n\tpath = elsewhere\n"
      "[includeIf \"hasconfig:remote.*.url:https://**\"]\n\tpath = by-url\n"
      "[includeIf \"hasconfig:remote.*.url:git@mirror*:*\"]\n\tpath = by-mirror\n"
      "[include]\n\tpath = always\n");
  const Situation there{.git_directory = home_ + "/elsewhere/x",
                        .branch = here_.branch,
                        .remote_urls = {here_.remote_urls.front()}};

  const auto missed = includes_only_here(places_, here_, there);

  ASSERT_TRUE(missed);
  EXPECT_EQ(*missed, (std::vector<std::string>{home_ + "/below-branch", home_ + "/by-place",
                                               home_ + "/nested", home_ + "/by-mirror"}));
}

TEST_F(UserIncludesTest, WritesEntriesThatReadTheSame) {
  user(
      "[http \"https://exa\\\\mple.org/\\\"q\\\"\"]\n\textraHeader = \"a # b; \\\"c\\\" \\\\ \\t\"\n"
      "[core]\n\tbare\n[a.B]\n\tc = d\n");
  const auto entries = read_user_entries(places_, here_);
  ASSERT_TRUE(entries);
  std::string text;
  for (const auto& entry : entries->entries) text += config_text(entry);
  const auto again = LocalConfig::parse(text);
  ASSERT_TRUE(again) << text;
  ASSERT_EQ(again->entries().size(), entries->entries.size());
  for (std::size_t i = 0; i < entries->entries.size(); ++i) {
    EXPECT_EQ(again->entries()[i].key, entries->entries[i].key);
    EXPECT_EQ(again->entries()[i].value, entries->entries[i].value);
  }
}

}  // namespace
}  // namespace repobridge::git
