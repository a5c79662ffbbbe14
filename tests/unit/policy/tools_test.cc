#include "policy/tools.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/repo_path.h"

namespace repobridge::policy {
namespace {

bool reads(std::string_view program, std::string_view name) {
  const auto names = read_unasked(program).names;
  return std::ranges::find(names, name) != names.end();
}

TEST(Tools, AreKnownWithoutTheirPlaceAndVersion) {
  for (const char* program : {"python", "python3", "python3.11", "/usr/bin/python3", "./python-3.12"}) {
    EXPECT_EQ(tool_name(program), "python") << program;
  }
  EXPECT_EQ(tool_name("/usr/bin/sha256sum"), "sha256sum");
  EXPECT_EQ(tool_name("7"), "7");
}

TEST(Tools, ReadWhatNobodyNamed) {
  for (const auto& [program, names] : std::vector<std::pair<const char*, std::vector<const char*>>>{
           {"python3.11",
            {"pyvenv.cfg", "sitecustomize.py", "usercustomize.py", "conftest.py", "pyproject.toml",
             "__pycache__/"}},
           {"pytest", {"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "__pycache__/"}},
           {"uv", {".venv/", "uv.toml", "uv.lock", ".python-version"}},
           {"npm", {"package.json", ".npmrc", "node_modules/", "package-lock.json"}},
           {"/usr/bin/node", {"package.json", "node_modules/"}},
           {"make", {"Makefile", "GNUmakefile", "makefile"}},
           {"cargo", {"Cargo.toml", "Cargo.lock", "build.rs", ".cargo/config.toml", "rust-toolchain.toml"}},
           {"go", {"go.mod", "go.sum", "go.work", "vendor/"}},
           {"gradlew", {"build.gradle", "settings.gradle.kts"}},
           {"mvn", {"pom.xml"}},
           {"bundle", {"Gemfile"}},
           {"composer", {"composer.json"}},
           {"cmake", {"CMakeLists.txt"}},
           {"ninja", {"build.ninja"}},
           {"just", {"justfile"}},
           {"tox", {"tox.ini"}},
           {"ruff", {"ruff.toml"}},
           {"eslint", {"eslint.config.js"}},
           {"prettier", {".prettierrc"}},
           {"deno", {"deno.json"}},
           {"bun", {"bunfig.toml"}}}) {
    for (const char* name : names) EXPECT_TRUE(reads(program, name)) << program << " " << name;
  }
}

TEST(Tools, ThatAreNotKnownReadNothing) {
  EXPECT_TRUE(read_unasked("sh").names.empty());
  EXPECT_TRUE(read_unasked("no-such-tool").tool.empty());
}

TEST(Tools, ReadOnlyWhatCanBePinned) {
  for (const char* program :
       {"python", "uv", "npm", "yarn", "bazel", "cargo", "gradle", "mvn", "bundle", "rspec"}) {
    for (auto name : read_unasked(program).names) {
      if (name.ends_with('/')) name.pop_back();
      EXPECT_TRUE(RepoPath::from_bytes(name)) << name;
    }
  }
}

TEST(Tools, ReadWhatAMakefileIncludes) {
  EXPECT_EQ(makefile_includes("include a.mk b.mk # not c.mk\n-include\td.mk\n sinclude e.mk\n"
                              "include $(X).mk *.mk\nincluded f.mk\nall:\n\techo include g.mk\n"),
            (std::vector<std::string>{"a.mk", "b.mk", "d.mk", "e.mk"}));
}

}  // namespace
}  // namespace repobridge::policy
