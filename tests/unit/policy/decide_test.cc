#include "policy/decide.h"

#include <gtest/gtest.h>

#include "policy/commit_message.h"
#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::argument_of;
using tests::code_of;
using tests::details_of;
using tests::value_of;

RepoPath path(const char* text) { return value_of(RepoPath::parse(text)); }

Action action_taking(ActionArgument argument) {
  return {.name = "x",
          .argv = {"true"},
          .argument = argument,
          .integrity = {{path("f"), Pin{.digest = std::string(64, 'a')}}}};
}

// "open" may be written, "closed" only read; a front may ask for both unless a test says otherwise.
BridgePolicy policy() {
  BridgePolicy made;
  made.digest = "digest";
  for (const char* alias : {"open", "closed"}) {
    Workdir workdir;
    workdir.alias = alias;
    workdir.description = "about " + std::string(alias);
    workdir.read_only = std::string_view(alias) == "closed";
    workdir.path = "/srv/" + std::string(alias);
    workdir.actions.emplace("plain", action_taking(ActionArgument::none));
    workdir.actions.emplace("file", action_taking(ActionArgument::path));
    made.workdirs.emplace(alias, std::move(workdir));
  }
  return made;
}

Front front(std::vector<std::string> workdirs = {}, bool read_only = false) {
  return {.name = "f", .key_file = "/k", .workdirs = std::move(workdirs), .read_only = read_only};
}

Call status_of_workdir(const char* alias) { return InspectCall{.view = View::status, .workdir = alias}; }
Call diff_of(const char* alias, const char* text) {
  return InspectCall{.view = View::diff, .workdir = alias, .paths = {path("fine"), path(text)}};
}
Call run(const char* alias, const char* action) { return RunActionCall{.workdir = alias, .action = action}; }
Call run_with(const char* alias, const char* action, const char* text) {
  return RunActionCall{.workdir = alias, .action = action, .path = path(text)};
}
Call commit(const char* alias, const char* text) {
  return CommitCall{.workdir = alias, .paths = {path("fine"), path(text)}, .message = "m\n"};
}
Call push(const char* alias) { return PushCall{.workdir = alias}; }

std::vector<Call> writing_calls(const char* alias) {
  return {run(alias, "plain"), commit(alias, "f"), push(alias)};
}

// What bridge and front each say; they may differ only where the front knows less.
std::string verdict(const Call& call, const Front& who = front()) {
  const auto both = policy();
  const auto bridge = code_of(decide(both, who, call));
  const auto at_front = code_of(precheck(front_side(both, who), call));
  EXPECT_TRUE(at_front == bridge || at_front == "OK") << at_front << " but then " << bridge;
  return bridge;
}

TEST(Decide, ApprovesWhatTheWorkdirAllows) {
  EXPECT_EQ(verdict(status_of_workdir("open")), "OK");
  EXPECT_EQ(verdict(status_of_workdir("closed")), "OK");
  EXPECT_EQ(verdict(diff_of("closed", "a/b")), "OK");
  for (const auto& call : writing_calls("open")) EXPECT_EQ(verdict(call), "OK");
  EXPECT_EQ(verdict(InspectCall{.view = View::workdirs}), "OK");
}

TEST(Decide, HandsOnWhatWasApproved) {
  const auto both = policy();

  const auto approved = value_of(decide(both, front(), run_with("open", "file", "a")));

  EXPECT_EQ(&approved.workdir(), &both.workdirs.at("open"));
  EXPECT_EQ(&approved.action(), &both.workdirs.at("open").actions.at("file"));
  EXPECT_EQ(std::get<RunActionCall>(approved.call()).path, path("a"));
}

TEST(Decide, RefusesEveryWriterOnAReadOnlyWorkdir) {
  for (const auto& call : writing_calls("closed")) {
    EXPECT_EQ(verdict(call), "WORKDIR_READ_ONLY");
    EXPECT_EQ(code_of(precheck(front_side(policy(), front()), call)), "WORKDIR_READ_ONLY");
  }
}

TEST(Decide, RefusesEveryWriterOfAReadOnlyFront) {
  for (const auto& call : writing_calls("open"))
    EXPECT_EQ(verdict(call, front({}, true)), "WORKDIR_READ_ONLY");
  EXPECT_EQ(verdict(status_of_workdir("open"), front({}, true)), "OK");
}

TEST(Decide, SaysTheSameOfAnUnknownWorkdirAndOneThatIsNotGranted) {
  const auto both = policy();
  const auto who = front({"closed"});

  const auto not_granted = decide(both, who, status_of_workdir("open"));
  const auto unknown = decide(both, who, status_of_workdir("nothing"));

  EXPECT_EQ(code_of(not_granted), "WORKDIR_NOT_FOUND");
  EXPECT_EQ(code_of(unknown), "WORKDIR_NOT_FOUND");
  EXPECT_EQ(tests::message_of(not_granted), tests::message_of(unknown));
  EXPECT_EQ(details_of(not_granted), details_of(unknown));
  EXPECT_EQ(details_of(unknown), (Json{{"workdirs", {"closed"}}}));
  for (const auto& call : writing_calls("open")) EXPECT_EQ(verdict(call, who), "WORKDIR_NOT_FOUND");
}

TEST(Decide, TakesAnAliasExactly) {
  for (const char* alias : {"Open", "OPEN", "open ", "op", "../open", "/srv/open", "*"}) {
    EXPECT_EQ(verdict(status_of_workdir(alias)), "WORKDIR_NOT_FOUND") << alias;
  }
}

// Only view workdirs names none. A call without a workdir would otherwise be approved without one.
TEST(Decide, ApprovesNoOtherCallThatNamesNoWorkdir) {
  EXPECT_EQ(verdict(status_of_workdir("")), "WORKDIR_NOT_FOUND");
  EXPECT_EQ(verdict(diff_of("", "a")), "WORKDIR_NOT_FOUND");
  for (const auto& call : writing_calls("")) {
    EXPECT_EQ(verdict(call), "WORKDIR_NOT_FOUND");
    EXPECT_EQ(code_of(precheck(front_side(policy(), front()), call)), "WORKDIR_NOT_FOUND");
  }
}

TEST(Decide, ApprovesNothingWhereNoWorkdirIsConfigured) {
  const BridgePolicy empty;

  EXPECT_EQ(code_of(decide(empty, front(), status_of_workdir("open"))), "WORKDIR_NOT_FOUND");
  EXPECT_EQ(code_of(decide(empty, front(), push("open"))), "WORKDIR_NOT_FOUND");
}

TEST(Decide, RefusesACallForOneOfItsPaths) {
  EXPECT_EQ(verdict(diff_of("open", "id_rsa")), "DENIED_PATH");
  EXPECT_EQ(verdict(diff_of("open", ".hidden")), "HIDDEN_PATH_NOT_ALLOWED");
  EXPECT_EQ(verdict(commit("open", "certs/server.pem")), "DENIED_PATH");
  EXPECT_EQ(verdict(commit("open", ".github/workflows/ci.yml")), "HIDDEN_PATH_NOT_ALLOWED");
  EXPECT_EQ(verdict(run_with("open", "file", "id_rsa")), "DENIED_PATH");
  EXPECT_EQ(verdict(run_with("open", "file", "a/.b")), "HIDDEN_PATH_NOT_ALLOWED");
}

TEST(Decide, KeepsToTheRulesOfItsOwnWorkdir) {
  auto both = policy();
  both.workdirs.at("open").rules =
      value_of(PathRules::make({.allow_hidden = true, .extra_deny_globs = {"*.x"}}));

  EXPECT_EQ(code_of(decide(both, front(), diff_of("open", ".hidden"))), "OK");
  EXPECT_EQ(code_of(decide(both, front(), diff_of("open", "a.x"))), "DENIED_PATH");
  EXPECT_EQ(code_of(decide(both, front(), diff_of("closed", ".hidden"))), "HIDDEN_PATH_NOT_ALLOWED");
  EXPECT_EQ(code_of(decide(both, front(), diff_of("closed", "a.x"))), "OK");
}

TEST(Decide, KnowsActionsByTheirExactName) {
  for (const char* name : {"", "nothing", "Plain", "plain ", "file.sh"}) {
    const auto refused = decide(policy(), front(), run("open", name));

    EXPECT_EQ(code_of(refused), "REPO_ACTION_NOT_FOUND") << name;
    EXPECT_EQ(details_of(refused), (Json{{"actions", {"file", "plain"}}}));
  }
}

TEST(Decide, HandsAnActionAPathOnlyWhereItTakesOne) {
  const auto refused = [](const Call& call) { return argument_of(decide(policy(), front(), call)); };

  EXPECT_EQ(refused(run_with("open", "plain", "a")), "path");
  EXPECT_EQ(refused(run("open", "file")), "path");
  EXPECT_EQ(verdict(run_with("open", "file", "a")), "OK");
}

TEST(Decide, HandsNoActionAPathThatLooksLikeAnOption) {
  for (const char* text : {"-", "-rf", "--help", "-/a"}) {
    EXPECT_EQ(verdict(run_with("open", "file", text)), "INVALID_ARGUMENT") << text;
  }
  EXPECT_EQ(verdict(run_with("open", "file", "a/-b")), "OK");
}

TEST(Decide, TellsNoPathOfTheHost) {
  for (const auto& call : {status_of_workdir("nothing"), run("open", "nothing"), commit("open", "id_rsa")}) {
    const auto refused = decide(policy(), front(), call);

    ASSERT_FALSE(refused);
    EXPECT_EQ((tests::message_of(refused) + details_of(refused).dump()).find("/srv"), std::string::npos);
  }
}

}  // namespace
}  // namespace repobridge::policy
