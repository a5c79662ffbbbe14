#include "policy/invocation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/text.h"

namespace repobridge::policy {
namespace {

// The elements that are executed, and " +" when one more would be. "$" stands for a blank within an element.
std::string executed(std::string_view command_line) {
  auto argv = split(command_line, ' ');
  for (auto& element : argv) std::ranges::replace(element, '$', ' ');
  const auto invocation = read_invocation(argv);
  std::string text;
  for (const auto& one : invocation.executed) {
    text += (text.empty() ? "" : " ") + argv[one.element] + (one.as == Executed::As::script ? "!" : "");
  }
  return text + (invocation.next_would_be ? " +" : "");
}

TEST(Invocation, OfAPlainProgramHasArguments) {
  EXPECT_EQ(executed("./tools/check --all x"), "./tools/check");
  EXPECT_EQ(executed("/usr/bin/wc -l"), "/usr/bin/wc");
}

TEST(Invocation, OfAnInterpreterExecutesItsScript) {
  EXPECT_EQ(executed("python3 check.py x"), "python3 check.py!");
  EXPECT_EQ(executed("/usr/bin/python3.11 -I -W ignore -Wonce check.py"), "/usr/bin/python3.11 check.py!");
  EXPECT_EQ(executed("bash -eu -o pipefail tools/run x"), "bash tools/run!");
  EXPECT_EQ(executed("perl -MList::Util -w -I lib x.pl"), "perl x.pl!");
  EXPECT_EQ(executed("ruby -rjson -r set x.rb"), "ruby x.rb!");
  EXPECT_EQ(executed("node --require ./x --test a.js"), "node a.js!");
  EXPECT_EQ(executed("php -d a=b -f x.php"), "php x.php!");
  EXPECT_EQ(executed("sh -- -x"), "sh -x!");
  EXPECT_EQ(executed("go run main.go"), "go main.go!");
}

TEST(Invocation, OfAnInterpreterWithCodeExecutesNoFile) {
  for (const char* line :
       {"python3 -c code x", "python3 -Im pytest x", "sh -c code", "sh -euc code", "bash -s x",
        "perl -ne code", "ruby -e code", "node -e code", "php -r code", "go build", "npm test"}) {
    EXPECT_EQ(executed(line), split(line, ' ').front()) << line;
  }
}

TEST(Invocation, EndsWhereOneMoreWouldBeExecuted) {
  for (const char* line : {"python3",
                           "python3 -I",
                           "python3 -W",
                           "sh",
                           "bash -o pipefail",
                           "perl -MData::Dumper",
                           "perl -i.c",
                           "node -r x",
                           "env",
                           "timeout",
                           "timeout 5",
                           "nice -n 5",
                           "uv",
                           "uv run",
                           "npx",
                           "deno run",
                           "xargs",
                           "java -jar",
                           "env -S x",
                           "env --split-string=python3$-u",
                           "sh --",
                           "sh -c",
                           "env bash -ce",
                           "python3 -m",
                           "perl -ne",
                           "node -e",
                           "uv run -m",
                           "/lib64/ld-linux-x86-64.so.2"}) {
    EXPECT_TRUE(executed(line).ends_with(" +")) << line;
  }
}

TEST(Invocation, GoesThroughProgramsThatStartOthers) {
  EXPECT_EQ(executed("env A=b -u X python3 check.py"), "env python3 check.py!");
  EXPECT_EQ(executed("timeout -s KILL 5 nice -n 3 bash x"), "timeout nice bash x!");
  EXPECT_EQ(executed("timeout 5 ./tools/check x"), "timeout ./tools/check");
  EXPECT_EQ(executed("uv --project p run --with x pytest tests"), "uv pytest");
  EXPECT_EQ(executed("uv run -m pytest"), "uv");
  EXPECT_EQ(executed("env python3"), "env python3 +");
  EXPECT_EQ(executed("busybox sh -c code"), "busybox sh");
}

TEST(Invocation, KnowsWhichElementsAreExecuted) {
  const auto invocation = read_invocation({"env", "python3", "-I", "x.py", "y"});

  for (const std::size_t element : {0U, 1U, 3U}) EXPECT_TRUE(invocation.executes(element));
  for (const std::size_t element : {2U, 4U}) EXPECT_FALSE(invocation.executes(element));
}

}  // namespace
}  // namespace repobridge::policy
