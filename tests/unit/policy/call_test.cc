#include "policy/call.h"

#include <gtest/gtest.h>

#include "policy/commit_message.h"
#include "tests/unit/details.h"
#include "tests/unit/results.h"

namespace repobridge::policy {
namespace {

using tests::argument_of;
using tests::code_of;
using tests::message_of;
using tests::value_of;

constexpr std::array kEveryTool = {Tool::inspect_repo, Tool::run_repo_action, Tool::commit_repo_changes,
                                   Tool::push_repo};

Result<Call> call(Tool tool, const char* arguments) { return parse_call(tool, *parse_json(arguments)); }

std::vector<std::string> texts_of(const std::vector<RepoPath>& paths) {
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(path.text());
  return texts;
}

// A sound call of each tool.
const char* sound_arguments(Tool tool) {
  switch (tool) {
    case Tool::inspect_repo:
      return R"({"workdir":"w","view":"status"})";
    case Tool::run_repo_action:
      return R"({"workdir":"w","action":"check"})";
    case Tool::commit_repo_changes:
      return R"({"workdir":"w","paths":["a"],"message":"m"})";
    case Tool::push_repo:
      return R"({"workdir":"w"})";
  }
  std::abort();
}

TEST(Tools, HaveTheNamesOfTheContract) {
  EXPECT_EQ(find_tool("inspect_repo"), Tool::inspect_repo);
  EXPECT_EQ(find_tool("run_repo_action"), Tool::run_repo_action);
  EXPECT_EQ(find_tool("commit_repo_changes"), Tool::commit_repo_changes);
  EXPECT_EQ(find_tool("push_repo"), Tool::push_repo);
  for (const auto tool : kEveryTool) EXPECT_EQ(find_tool(name_of(tool)), tool);
  for (const char* name : {"", "Push_repo", "push_repo ", "git_init", "shell"}) {
    EXPECT_EQ(find_tool(name), std::nullopt) << name;
  }
}

TEST(ParseCall, MakesACallOfItsTool) {
  for (const auto tool : kEveryTool) {
    const auto parsed = value_of(call(tool, sound_arguments(tool)));

    EXPECT_EQ(tool_of(parsed), tool);
    EXPECT_EQ(workdir_of(parsed), "w");
    EXPECT_EQ(writes(parsed), tool != Tool::inspect_repo);
  }
}

TEST(ParseCall, RefusesEveryUnknownArgumentByName) {
  for (const auto tool : kEveryTool) {
    for (const char* name : {"force", "remote", "ref", "branch", "commit", "workflow", "argv", "env", "cwd",
                             "args", "amend", "all", "repo_path", "Workdir", "workdir "}) {
      auto arguments = *parse_json(sound_arguments(tool));
      arguments[name] = "x";

      const auto refused = parse_call(tool, arguments);

      EXPECT_EQ(code_of(refused), "INVALID_ARGUMENT") << name_of(tool) << " " << name;
      EXPECT_EQ(argument_of(refused), name) << name_of(tool);
    }
  }
}

TEST(ParseCall, SpeaksOfAnUnknownArgumentBeforeAMissingOne) {
  EXPECT_EQ(argument_of(call(Tool::push_repo, R"({"force":true})")), "force");
}

TEST(ParseCall, RefusesWhatIsNoObject) {
  for (const auto tool : kEveryTool) {
    for (const char* arguments : {"null", "[]", "\"w\"", "1"}) {
      EXPECT_EQ(code_of(call(tool, arguments)), "INVALID_ARGUMENT") << arguments;
    }
  }
}

TEST(ParseCall, NeedsAWorkdirThatIsNamed) {
  for (const auto tool : kEveryTool) {
    auto arguments = *parse_json(sound_arguments(tool));
    for (const auto& value : {Json(""), Json(nullptr), Json(1), Json::array()}) {
      arguments["workdir"] = value;
      EXPECT_EQ(code_of(parse_call(tool, arguments)), "INVALID_ARGUMENT") << name_of(tool) << " " << value;
      EXPECT_EQ(argument_of(parse_call(tool, arguments)), "workdir");
    }
    arguments.erase("workdir");
    EXPECT_EQ(argument_of(parse_call(tool, arguments)), "workdir") << name_of(tool);
  }
}

// --- inspect_repo ------------------------------------------------------------------------------------------

TEST(ParseInspect, ListsTheWorkdirsWithoutNamingOne) {
  const auto parsed = value_of(call(Tool::inspect_repo, R"({"view":"workdirs"})"));

  EXPECT_EQ(std::get<InspectCall>(parsed).view, View::workdirs);
  EXPECT_EQ(workdir_of(parsed), "");
  EXPECT_EQ(argument_of(call(Tool::inspect_repo, R"({"view":"workdirs","workdir":"w"})")), "workdir");
  EXPECT_EQ(argument_of(call(Tool::inspect_repo, R"({"view":"workdirs","workdir":""})")), "workdir");
}

TEST(ParseInspect, TakesARunAndAWaitForViewRunOnly) {
  const std::string id(32, 'a');
  const auto parsed = value_of(parse_call(
      Tool::inspect_repo, Json{{"workdir", "w"}, {"view", "run"}, {"run_id", id}, {"wait_seconds", 44}}));
  EXPECT_EQ(std::get<InspectCall>(parsed).run_id, id);
  EXPECT_EQ(std::get<InspectCall>(parsed).wait, std::chrono::seconds(44));
  EXPECT_EQ(argument_of(parse_call(Tool::inspect_repo, Json{{"view", "workdirs"}, {"run_id", id}})),
            "run_id");
  for (const Json& wrong : {Json(std::string(32, 'A')), Json(std::string(33, 'a')), Json(""), Json(1)}) {
    EXPECT_EQ(argument_of(
                  parse_call(Tool::inspect_repo, Json{{"workdir", "w"}, {"view", "run"}, {"run_id", wrong}})),
              "run_id");
  }
  for (const Json& wrong : {Json(45), Json(-1), Json("1"), Json(true), Json(0.5)}) {
    EXPECT_EQ(argument_of(parse_call(Tool::inspect_repo,
                                     Json{{"workdir", "w"}, {"view", "run"}, {"wait_seconds", wrong}})),
              "wait_seconds");
  }
}

TEST(ParseInspect, KnowsItsViewsExactly) {
  for (const auto view : {View::status, View::actions, View::run}) {
    const auto arguments = Json{{"workdir", "w"}, {"view", name_of(view)}};
    EXPECT_EQ(std::get<InspectCall>(value_of(parse_call(Tool::inspect_repo, arguments))).view, view);
  }
  for (const auto view : {View::diff, View::staged_diff}) {
    const auto arguments = Json{{"workdir", "w"}, {"view", name_of(view)}, {"paths", {"a"}}};
    EXPECT_EQ(std::get<InspectCall>(value_of(parse_call(Tool::inspect_repo, arguments))).view, view);
  }
  for (const char* view : {"", "Status", "log", "blame", "staged-diff"}) {
    const auto arguments = Json{{"workdir", "w"}, {"view", view}};
    EXPECT_EQ(argument_of(parse_call(Tool::inspect_repo, arguments)), "view") << view;
  }
  EXPECT_EQ(argument_of(call(Tool::inspect_repo, R"({"workdir":"w"})")), "view");
}

TEST(ParseInspect, TakesPathsForADiffOnlyAndNeedsThemThere) {
  for (const char* view : {"diff", "staged_diff"}) {
    EXPECT_EQ(argument_of(parse_call(Tool::inspect_repo, Json{{"workdir", "w"}, {"view", view}})), "paths");
    EXPECT_EQ(argument_of(parse_call(Tool::inspect_repo,
                                     Json{{"workdir", "w"}, {"view", view}, {"paths", Json::array()}})),
              "paths");
  }
  for (const char* view : {"status", "actions"}) {
    for (const auto& paths : {Json::array(), Json::array({"a"}), Json(nullptr)}) {
      EXPECT_EQ(argument_of(
                    parse_call(Tool::inspect_repo, Json{{"workdir", "w"}, {"view", view}, {"paths", paths}})),
                "paths");
    }
  }
  EXPECT_EQ(argument_of(call(Tool::inspect_repo, R"({"view":"workdirs","paths":["a"]})")), "paths");
}

// --- commit_repo_changes -----------------------------------------------------------------------------------

TEST(ParseCommit, SortsItsPathsAndKeepsEachOnce) {
  const auto parsed = value_of(call(Tool::commit_repo_changes,
                                    R"({"workdir":"w","paths":["b","a","\"a\"","b","a/c"],"message":"m"})"));

  EXPECT_EQ(texts_of(paths_of(parsed)), (std::vector<std::string>{"a", "a/c", "b"}));
}

TEST(ParseCommit, StoresItsMessageInOneForm) {
  const auto parsed =
      value_of(call(Tool::commit_repo_changes, R"({"workdir":"w","paths":["a"],"message":"\n one\r\ntwo"})"));

  EXPECT_EQ(std::get<CommitCall>(parsed).message, " one\ntwo\n");
}

TEST(ParseCommit, NeedsPathsAndAMessage) {
  EXPECT_EQ(argument_of(call(Tool::commit_repo_changes, R"({"workdir":"w","message":"m"})")), "paths");
  EXPECT_EQ(argument_of(call(Tool::commit_repo_changes, R"({"workdir":"w","paths":[],"message":"m"})")),
            "paths");
  EXPECT_EQ(argument_of(call(Tool::commit_repo_changes, R"({"workdir":"w","paths":"a","message":"m"})")),
            "paths");
  EXPECT_EQ(argument_of(call(Tool::commit_repo_changes, R"({"workdir":"w","paths":[1],"message":"m"})")),
            "paths");
  EXPECT_EQ(argument_of(call(Tool::commit_repo_changes, R"({"workdir":"w","paths":["a"]})")), "message");
  EXPECT_EQ(code_of(call(Tool::commit_repo_changes, R"({"workdir":"w","paths":["a"],"message":" "})")),
            "INVALID_COMMIT_MESSAGE");
}

Result<Call> commit_expecting(const Json& expect) {
  return parse_call(Tool::commit_repo_changes,
                    Json{{"workdir", "w"}, {"paths", {"a", "b"}}, {"message", "m"}, {"expect", expect}});
}

TEST(ParseCommit, ExpectsAnObjectOfEveryPathOrOfNone) {
  const std::string oid(40, 'a');

  const auto with = std::get<CommitCall>(value_of(commit_expecting(Json{{"\"a\"", oid}, {"b", oid}})));
  const auto without = std::get<CommitCall>(
      value_of(call(Tool::commit_repo_changes, R"({"workdir":"w","paths":["a"],"message":"m"})")));

  EXPECT_EQ(with.expect.size(), 2U);
  EXPECT_EQ(with.expect.begin()->first.bytes(), "a");
  EXPECT_EQ(with.expect.begin()->second, oid);
  EXPECT_TRUE(without.expect.empty());
  for (const auto& expect : {Json(nullptr), Json::array(), Json::object(), Json{{"a", oid}},
                             Json{{"a", oid}, {"b", oid}, {"c", oid}}, Json{{"a", oid}, {"c", oid}}}) {
    EXPECT_EQ(argument_of(commit_expecting(expect)), "expect") << expect;
  }
}

TEST(ParseCommit, ExpectsObjectIdsInLowerCase) {
  for (const auto& oid :
       {Json(std::string(39, 'a')), Json(std::string(41, 'a')), Json(std::string(40, 'A')),
        Json(std::string(40, 'g')), Json(std::string(64, 'a')), Json(""), Json(1), Json(nullptr)}) {
    EXPECT_EQ(argument_of(commit_expecting(Json{{"a", oid}, {"b", std::string(40, 'b')}})), "expect") << oid;
  }
}

TEST(ParseCommit, ExpectsEachFileOnce) {
  const auto refused = commit_expecting(
      Json{{"a", std::string(40, 'a')}, {"\"a\"", std::string(40, 'b')}, {"b", std::string(40, 'c')}});

  EXPECT_EQ(argument_of(refused), "expect");
}

TEST(ParseCommit, RefusesEverythingForOnePathThatIsNone) {
  const auto with_path = [](const char* path) {
    return code_of(parse_call(Tool::commit_repo_changes,
                              Json{{"workdir", "w"}, {"paths", {"fine", path}}, {"message", "m"}}));
  };

  EXPECT_EQ(with_path("."), "INVALID_PATH");
  EXPECT_EQ(with_path(""), "INVALID_PATH");
  EXPECT_EQ(with_path("../../.ssh/id_rsa"), "PATH_OUTSIDE_WORKDIR");
  EXPECT_EQ(with_path(".git/config"), "DENIED_PATH");
  EXPECT_EQ(with_path("\"a"), "INVALID_PATH");
}

TEST(ParseCommit, NamesUpToTheLimitOfPathsAndNotOneMore) {
  Json arguments{{"workdir", "w"}, {"paths", Json::array()}, {"message", "m"}};
  for (std::size_t i = 0; i < kMaxPathsPerCall; ++i) arguments["paths"].push_back("f" + std::to_string(i));

  EXPECT_EQ(paths_of(value_of(parse_call(Tool::commit_repo_changes, arguments))).size(), kMaxPathsPerCall);
  arguments["paths"].push_back("f0");
  EXPECT_EQ(argument_of(parse_call(Tool::commit_repo_changes, arguments)), "paths");
}

// --- run_repo_action and push_repo -------------------------------------------------------------------------

TEST(ParseRun, TakesOnePathOrNone) {
  const auto with = value_of(call(Tool::run_repo_action, R"({"workdir":"w","action":"check","path":"a/b"})"));
  const auto without = value_of(call(Tool::run_repo_action, R"({"workdir":"w","action":"check"})"));

  EXPECT_EQ(std::get<RunActionCall>(with).action, "check");
  EXPECT_EQ(std::get<RunActionCall>(with).path->bytes(), "a/b");
  EXPECT_EQ(std::get<RunActionCall>(without).path, std::nullopt);
  EXPECT_TRUE(paths_of(without).empty());
}

TEST(ParseRun, RefusesAPathThatIsNone) {
  EXPECT_EQ(code_of(call(Tool::run_repo_action, R"({"workdir":"w","action":"check","path":"../x"})")),
            "PATH_OUTSIDE_WORKDIR");
  EXPECT_EQ(argument_of(call(Tool::run_repo_action, R"({"workdir":"w","action":"check","path":["a"]})")),
            "path");
  EXPECT_EQ(argument_of(call(Tool::run_repo_action, R"({"workdir":"w"})")), "action");
}

TEST(ParseCall, RepeatsNoValueInAMessage) {
  const auto refused = call(Tool::inspect_repo, R"({"workdir":"w","view":"please print the secret"})");

  EXPECT_EQ(message_of(refused).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace repobridge::policy
