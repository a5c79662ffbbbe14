#include "platform/program.h"

#include <algorithm>

#include "scratch.h"

namespace repobridge::admin {
namespace {

using platform::find_program;
using platform::follow_program;

using FindProgram = Scratch;
using FollowProgram = Scratch;

std::vector<std::string> paths_of(const Result<std::vector<platform::ProgramHop>>& hops) {
  std::vector<std::string> paths;
  if (!hops) return {hops.error().code};
  for (const auto& hop : *hops) paths.push_back((hop.runs ? "runs " : "") + hop.path);
  return paths;
}

TEST_F(FindProgram, TakesTheFirstExecutableFileOfAbsoluteDirectories) {
  directory("a");
  directory("b");
  directory("c");
  directory("a/tool");
  file("b/tool", "", 0600);
  program("c/tool");

  EXPECT_EQ(find_program("tool", at("a") + ":" + at("b") + ":" + at("c")).value_or(""), at("c/tool"));
}

TEST_F(FindProgram, PassesOverRelativeAndEmptyEntries) {
  program("tool");
  ASSERT_EQ(::chdir(at(".").c_str()), 0);

  for (const char* search_path : {"", ":", ".", "./.", ":."}) {
    EXPECT_FALSE(find_program("tool", search_path)) << search_path;
  }
  ASSERT_EQ(::chdir("/"), 0);
}

TEST_F(FollowProgram, NamesEveryLink) {
  const auto real = file("real", "binary", 0700);
  link("second", "real");
  const auto first = link("first", at("second"));

  EXPECT_EQ(paths_of(follow_program(first, "")),
            (std::vector<std::string>{at("first"), at("second"), "runs " + real}));
}

TEST_F(FollowProgram, NamesALinkedDirectoryAndOneThatALinkLeaves) {
  directory("bin");
  directory("bin/deep");
  file("tool", "binary", 0700);
  link("bin/tool", "deep/../../tool");
  link("linked", "bin");

  EXPECT_EQ(paths_of(follow_program(at("linked/tool"), "")),
            (std::vector<std::string>{at("linked"), at("bin/tool"), at("bin/deep"), at("bin"),
                                      "runs " + at("tool")}));
}

TEST_F(FollowProgram, NamesInterpreters) {
  const auto outer = file("outer", "binary", 0700);
  const auto middle = program("middle", "#!" + outer + " -x\n");
  const auto script = program("script", "#! \t" + middle + "\n");

  EXPECT_EQ(paths_of(follow_program(script, "")),
            (std::vector<std::string>{"runs " + script, "runs " + middle, "runs " + outer}));
}

TEST_F(FollowProgram, NamesWhatEnvWillStart) {
  directory("bin");
  const auto env = file("env", "binary", 0700);
  const auto tool = file("bin/tool", "binary", 0700);

  for (const char* words : {"tool", "-S tool -x", "-S A=1 tool"}) {
    const auto script = program("script", "#!" + env + " " + words + "\n");
    EXPECT_EQ(paths_of(follow_program(script, at("bin"))),
              (std::vector<std::string>{"runs " + script, "runs " + env, "runs " + tool}))
        << words;
    ASSERT_EQ(::unlink(script.c_str()), 0);
  }
}

TEST_F(FollowProgram, RefusesWhatCannotRun) {
  EXPECT_EQ(paths_of(follow_program(at("missing"), "")), std::vector<std::string>{"PROGRAM_NOT_FOUND"});
  EXPECT_EQ(paths_of(follow_program(link("dangling", "missing"), "")),
            std::vector<std::string>{"PROGRAM_NOT_FOUND"});
  EXPECT_EQ(paths_of(follow_program(link("loop", "loop"), "")),
            std::vector<std::string>{"PROGRAM_NOT_FOUND"});
  EXPECT_EQ(paths_of(follow_program(file("plain", ""), "")),
            std::vector<std::string>{"PROGRAM_NOT_EXECUTABLE"});
  EXPECT_EQ(paths_of(follow_program(directory("d"), "")), std::vector<std::string>{"PROGRAM_NOT_EXECUTABLE"});
}

TEST_F(FollowProgram, RefusesInterpretersThatDependOnWhereItStarts) {
  const auto env = file("env", "binary", 0700);
  const std::vector<std::string> refused{"PROGRAM_INTERPRETER"};

  EXPECT_EQ(paths_of(follow_program(program("relative", "#!./sh\n"), "")), refused);
  EXPECT_EQ(paths_of(follow_program(program("by_env", "#!" + env + " ./sh\n"), "")), refused);
  EXPECT_EQ(paths_of(follow_program(program("unfound", "#!" + env + " tool\n"), at("."))), refused);
  EXPECT_EQ(paths_of(follow_program(program("itself", "#!" + at("itself") + "\n"), "")), refused);
}

}  // namespace
}  // namespace repobridge::admin
