#include "policy/tools.h"

#include <algorithm>
#include <array>

#include "policy/text.h"

namespace repobridge::policy {
namespace {

struct Tool {
  std::string_view names;  // blanks between them
  std::string_view reads;
  bool beside_script = false;
};

constexpr std::string_view kPythonReads =
    "pyvenv.cfg sitecustomize.py usercustomize.py conftest.py pyproject.toml setup.cfg tox.ini pytest.ini "
    "__pycache__/";
constexpr std::string_view kNodeReads = "package.json .npmrc node_modules/ package-lock.json";

constexpr std::array kTools = {
    // Python
    Tool{"python pypy ipython", kPythonReads, true},
    Tool{"pytest py.test",
         "conftest.py pyproject.toml setup.cfg tox.ini pytest.ini .pytest.ini __pycache__/"},
    Tool{"uv uvx", ".venv/ uv.toml uv.lock .python-version pyproject.toml"},
    Tool{"pip", "pyproject.toml setup.py setup.cfg"},
    Tool{"poetry", "pyproject.toml poetry.lock poetry.toml .venv/"},
    Tool{"pipenv", "Pipfile Pipfile.lock .env .venv/"},
    Tool{"pdm", "pyproject.toml pdm.lock pdm.toml .pdm-python .venv/"},
    Tool{"hatch", "pyproject.toml hatch.toml"},
    Tool{"tox", "tox.ini tox.toml setup.cfg pyproject.toml"},
    Tool{"nox", "noxfile.py pyproject.toml"},
    Tool{"ruff", "ruff.toml .ruff.toml pyproject.toml"},
    Tool{"mypy", "mypy.ini .mypy.ini pyproject.toml setup.cfg"},
    Tool{"pyright", "pyrightconfig.json pyproject.toml"},
    Tool{"pylint", "pylintrc .pylintrc pylintrc.toml .pylintrc.toml pyproject.toml setup.cfg tox.ini"},
    Tool{"flake", ".flake8 setup.cfg tox.ini"},
    Tool{"black isort", "pyproject.toml .isort.cfg setup.cfg tox.ini .editorconfig"},
    Tool{"coverage", ".coveragerc setup.cfg tox.ini pyproject.toml"},
    Tool{"pre-commit", ".pre-commit-config.yaml"},
    // JavaScript
    Tool{"node nodejs", kNodeReads},
    Tool{"npm npx", kNodeReads},
    Tool{"pnpm pnpx", "package.json .npmrc node_modules/ pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs"},
    Tool{"yarn yarnpkg",
         "package.json .yarnrc .yarnrc.yml .yarn/ yarn.lock .pnp.cjs .pnp.loader.mjs node_modules/"},
    Tool{"bun bunx", "package.json bunfig.toml bun.lock bun.lockb node_modules/ tsconfig.json .npmrc .env"},
    Tool{"deno", "deno.json deno.jsonc deno.lock package.json node_modules/"},
    Tool{"tsc tsx ts-node", "tsconfig.json package.json node_modules/"},
    Tool{"eslint",
         "eslint.config.js eslint.config.mjs eslint.config.cjs eslint.config.ts .eslintrc .eslintrc.js "
         ".eslintrc.cjs "
         ".eslintrc.json .eslintrc.yml .eslintrc.yaml .eslintignore package.json node_modules/"},
    Tool{"prettier",
         ".prettierrc .prettierrc.json .prettierrc.yml .prettierrc.yaml .prettierrc.js .prettierrc.cjs "
         ".prettierrc.mjs .prettierrc.toml prettier.config.js prettier.config.cjs prettier.config.mjs "
         ".prettierignore .editorconfig package.json node_modules/"},
    Tool{"jest",
         "jest.config.js jest.config.ts jest.config.cjs jest.config.mjs jest.config.json package.json "
         "node_modules/"},
    Tool{"vite vitest",
         "vite.config.js vite.config.ts vitest.config.js vitest.config.ts package.json node_modules/"},
    // Builders
    Tool{"make gmake", "GNUmakefile makefile Makefile"},
    Tool{"cmake", "CMakeLists.txt CMakePresets.json CMakeUserPresets.json"},
    Tool{"ctest", "CTestTestfile.cmake CTestConfig.cmake CMakePresets.json CMakeUserPresets.json"},
    Tool{"ninja", "build.ninja"},
    Tool{"meson", "meson.build meson_options.txt meson.options"},
    Tool{"just", "justfile Justfile .justfile .env"},
    Tool{"task go-task", "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml .env"},
    Tool{"bazel bazelisk",
         "MODULE.bazel WORKSPACE WORKSPACE.bazel BUILD BUILD.bazel .bazelrc .bazelversion tools/bazel"},
    Tool{
        "cargo",
        "Cargo.toml Cargo.lock build.rs .cargo/config.toml .cargo/config rust-toolchain.toml rust-toolchain"},
    Tool{"rustfmt", "rustfmt.toml .rustfmt.toml"},
    Tool{"go gofmt", "go.mod go.sum go.work go.work.sum vendor/"},
    Tool{"golangci-lint", ".golangci.yml .golangci.yaml .golangci.toml .golangci.json go.mod go.sum vendor/"},
    Tool{"gradle gradlew",
         "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradle/ "
         "buildSrc/"},
    Tool{"mvn mvnw", "pom.xml .mvn/"},
    Tool{"ant", "build.xml"},
    Tool{"sbt", "build.sbt project/ .sbtopts .jvmopts"},
    Tool{"swift", "Package.swift Package.resolved"},
    Tool{"zig", "build.zig build.zig.zon"},
    Tool{"mix elixir iex", "mix.exs mix.lock config/ .formatter.exs"},
    Tool{"cabal stack", "cabal.project cabal.project.local stack.yaml package.yaml"},
    Tool{"dune", "dune-project dune dune-workspace"},
    Tool{"dotnet", "global.json nuget.config NuGet.config Directory.Build.props Directory.Build.targets"},
    // Ruby and PHP
    Tool{"ruby bundle bundler", "Gemfile Gemfile.lock .bundle/ .ruby-version"},
    Tool{"rake", "Rakefile rakefile Rakefile.rb rakefile.rb rakelib/ Gemfile Gemfile.lock"},
    Tool{"rspec", ".rspec .rspec-local spec/spec_helper.rb Gemfile Gemfile.lock"},
    Tool{"rubocop", ".rubocop.yml .rubocop_todo.yml Gemfile Gemfile.lock"},
    Tool{"php composer", "composer.json composer.lock vendor/ auth.json"},
    Tool{"phpunit", "phpunit.xml phpunit.xml.dist phpunit.dist.xml composer.json vendor/"},
    // Checkers
    Tool{"clang-format", ".clang-format _clang-format .clang-format-ignore"},
    Tool{"clang-tidy", ".clang-tidy compile_commands.json compile_flags.txt"},
    Tool{"shellcheck", ".shellcheckrc"},
    Tool{"markdownlint", ".markdownlint.json .markdownlint.yaml .markdownlintrc"},
    Tool{"yamllint", ".yamllint .yamllint.yml .yamllint.yaml"},
};

bool holds(std::string_view list, std::string_view name) {
  return std::ranges::any_of(split(list, ' '), [&](const std::string& one) { return one == name; });
}

// What follows the word on an include line; empty for every other line.
std::string_view included(std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  for (const std::string_view word : {"include", "-include", "sinclude"}) {
    if (line.starts_with(word) && line.size() > word.size() &&
        (line[word.size()] == ' ' || line[word.size()] == '\t'))
      return trimmed(line.substr(word.size()));
  }
  return {};
}

}  // namespace

std::string tool_name(std::string_view program) {
  std::string_view name = program.substr(program.rfind('/') + 1);
  const auto end = name.find_last_not_of("0123456789.-");
  if (end != std::string_view::npos) name = name.substr(0, end + 1);
  return std::string(name);
}

ToolReads read_unasked(std::string_view program) {
  const std::string name = tool_name(program);
  const auto* found = std::ranges::find_if(kTools, [&](const Tool& tool) { return holds(tool.names, name); });
  if (found == kTools.end()) return {};
  return {.tool = name, .names = split(found->reads, ' '), .beside_script = found->beside_script};
}

std::vector<std::string> makefile_includes(std::string_view makefile) {
  std::vector<std::string> names;
  for (const auto& line : split(makefile, '\n')) {
    for (const auto& name : split(included(line), ' ')) {
      const bool plain = !name.empty() && name.find_first_of("$*?[~%\t") == std::string::npos;
      if (plain) names.push_back(name);
    }
  }
  return names;
}

}  // namespace repobridge::policy
