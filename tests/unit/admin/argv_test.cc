#include "bridge/admin/argv.h"

#include "scratch.h"

namespace repobridge::admin {
namespace {

// Two workdirs and a directory of programs beside them.
class SettleProgram : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    directory("bin");
    directory("work");
    directory("work/tools");
    directory("other");
    auto roots = Roots::of({{.slot = "WORKDIR_01_", .alias = "a", .path = at("work")},
                            {.slot = "WORKDIR_02_", .alias = "b", .path = at("other")}});
    ASSERT_TRUE(roots);
    roots_.emplace(*std::move(roots));
  }

  // argv[0] as it is kept, or the refusal.
  std::string settled(const std::string& name, const std::vector<std::string>& pinned = {"README"}) {
    policy::Action action{.name = "check", .argv = {name, "x"}};
    for (const auto& path : pinned)
      action.integrity.emplace(policy::RepoPath::parse(path).value(), policy::Pin{});
    const auto search_path = at("bin");
    const auto done = settle_program(action, {.roots = &*roots_,
                                              .root = &roots_->of_slot("WORKDIR_01_"),
                                              .search_path = search_path,
                                              .variable = "WORKDIR_01_REPO_ACTIONS_JSON"});
    return done ? action.argv.front() : done.error().message;
  }

 private:
  std::optional<Roots> roots_;
};

constexpr const char* kWhere = "WORKDIR_01_REPO_ACTIONS_JSON: 'check.argv[0]' ";

TEST_F(SettleProgram, KeepsTheNameThatPathLedTo) {
  program("bin/real");
  link("bin/tool", "real");

  EXPECT_EQ(settled("tool"), at("bin/tool"));
}

TEST_F(SettleProgram, KeepsAnAbsoluteName) { EXPECT_EQ(settled(program("bin/tool")), at("bin/tool")); }

TEST_F(SettleProgram, TakesAFileOfTheWorkdirOnlyWhenItIsPinned) {
  program("work/tools/check");

  EXPECT_EQ(settled("tools/check", {"tools/check"}), "./tools/check");
  EXPECT_EQ(settled("./tools/check", {"tools/check"}), "./tools/check");
  EXPECT_EQ(settled(at("work/tools/check"), {"tools/check"}), at("work/tools/check"));
  EXPECT_EQ(settled("./tools/check"),
            std::string(kWhere) + "is a file of the workdir, so 'integrity' must pin it");
  EXPECT_EQ(settled(at("work/tools/check")),
            std::string(kWhere) +
                "runs a file inside the workdir of WORKDIR_01_PATH that 'integrity' does not pin");
}

TEST_F(SettleProgram, RefusesAPathOutOfTheWorkdir) {
  program("outside");

  EXPECT_NE(settled("../outside").find("is no path of the workdir"), std::string::npos);
  EXPECT_NE(settled("./").find("is no path of the workdir"), std::string::npos);
}

TEST_F(SettleProgram, RefusesALinkThatPassesThroughAWorkdir) {
  program("bin/real");
  link("work/tools/switch", at("bin/real"));
  link("bin/tool", at("work/tools/switch"));

  EXPECT_EQ(settled("tool", {"tools/switch"}),
            std::string(kWhere) +
                "passes a link inside the workdir of WORKDIR_01_PATH that 'integrity' does not pin");
}

TEST_F(SettleProgram, RefusesADirectoryLinkThatPassesThroughAWorkdir) {
  program("bin/real");
  link("other/switch", at("bin"));
  link("linked", at("other/switch"));

  EXPECT_NE(settled(at("linked/real")).find("WORKDIR_02_PATH"), std::string::npos);
}

TEST_F(SettleProgram, RefusesAnInterpreterInsideAWorkdir) {
  program("work/tools/sh");
  program("bin/tool", "#!" + at("work/tools/sh") + "\n");

  EXPECT_NE(settled("tool").find("runs a file inside the workdir"), std::string::npos);
  EXPECT_EQ(settled("tool", {"tools/sh"}), at("bin/tool"));
}

TEST_F(SettleProgram, RefusesAPinnedNameOfAnotherWorkdir) {
  program("other/check");

  EXPECT_NE(settled(at("other/check"), {"check"}).find("WORKDIR_02_PATH"), std::string::npos);
}

TEST_F(SettleProgram, RefusesWhatIsNotThere) {
  EXPECT_EQ(settled("tool"), std::string(kWhere) +
                                 "cannot be used: no absolute directory of PATH has an executable file of "
                                 "that name");
}

}  // namespace
}  // namespace repobridge::admin
