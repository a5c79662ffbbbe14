#include "policy/invocation.h"

#include <algorithm>
#include <array>
#include <optional>

#include "policy/text.h"
#include "policy/tools.h"

namespace repobridge::policy {
namespace {

using As = Executed::As;

// Single letters behind one dash, which may stand together: "-Ic".
struct Letters {
  std::string_view valued;  // the rest of the element is the value, or the next element when nothing is left
  std::string_view rest;    // the rest of the element is the value, if there is one
  std::string_view last;    // what follows is code and its arguments: nothing more is executed
  std::string_view unclear = {};  // what follows is not looked into
};

// Whole options, blanks between them.
struct Words {
  std::string_view valued;
  std::string_view last;
};

struct Starter {
  std::string_view names;
  As starts = As::program;
  Letters letters = {};
  Words words = {};
  std::size_t operands = 0;          // plain elements before what is started
  std::string_view subcommand = {};  // which must come first
};

constexpr Words kUvWords{
    "-p --python --with --with-editable --with-requirements --extra --group --no-group --only-group "
    "--env-file "
    "--directory --project --package --index --default-index --index-url --extra-index-url --config-file "
    "--cache-dir",
    "-m --module"};

constexpr std::array kStarters = {
    // What starts another program.
    Starter{.names = "env", .letters = {.valued = "uC", .unclear = "S"}, .words = {"--unset --chdir", ""}},
    Starter{.names = "nice", .letters = {.valued = "n"}, .words = {"--adjustment", ""}},
    Starter{.names = "timeout",
            .letters = {.valued = "ks"},
            .words = {"--signal --kill-after", ""},
            .operands = 1},
    Starter{.names = "stdbuf", .letters = {.valued = "ioe"}, .words = {"--input --output --error", ""}},
    Starter{.names = "ionice", .letters = {.valued = "cn"}, .words = {"--class --classdata", ""}},
    Starter{.names = "taskset chrt chroot flock", .operands = 1},
    Starter{.names = "nohup setsid unshare nsenter busybox toybox valgrind catchsegv ld-linux-x86-64.so "
                     "ld-linux-aarch64.so ld.so"},
    Starter{.names = "time", .letters = {.valued = "fo"}},
    Starter{.names = "strace ltrace", .letters = {.valued = "aeopsuEIOPSUX"}},
    Starter{.names = "xargs", .letters = {.valued = "adEILnPs"}},
    Starter{.names = "sudo doas", .letters = {.valued = "ugCDhpRrTtU"}},
    Starter{.names = "uv", .words = kUvWords, .subcommand = "run"},
    Starter{.names = "poetry pipenv pdm hatch rye pixi mise", .subcommand = "run"},
    Starter{.names = "bundle bundler npm pnpm yarn direnv", .subcommand = "exec"},
    Starter{.names = "npx pnpx bunx uvx", .words = {"-p --package --from --with", "-c --call"}},
    // What reads a script.
    Starter{.names = "python pypy ipython",
            .starts = As::script,
            .letters = {.valued = "WXQ", .last = "cm"},
            .words = {"--check-hash-based-pycs", ""}},
    Starter{.names = "sh bash dash ash zsh ksh mksh",
            .starts = As::script,
            .letters = {.valued = "oO", .last = "cs"},
            .words = {"--rcfile --init-file", ""}},
    Starter{.names = "fish csh tcsh", .starts = As::script, .letters = {.valued = "C", .last = "c"}},
    Starter{
        .names = "perl", .starts = As::script, .letters = {.valued = "I", .rest = "MmixCDFVd", .last = "eE"}},
    Starter{
        .names = "ruby", .starts = As::script, .letters = {.valued = "ICEr", .rest = "KTWxFi", .last = "e"}},
    Starter{.names = "php", .starts = As::script, .letters = {.valued = "cdztBRE", .last = "r"}},
    Starter{
        .names = "node nodejs",
        .starts = As::script,
        .words = {"-r --require --import --loader --experimental-loader -C --conditions --env-file --title",
                  "-e --eval -p --print -pe"}},
    Starter{.names = "lua luajit", .starts = As::script, .letters = {.valued = "el"}},
    Starter{.names = "Rscript", .starts = As::script, .words = {"", "-e"}},
    Starter{.names =
                "tsx ts-node tclsh wish expect guile julia raku groovy pwsh osascript octave gnuplot mono nu",
            .starts = As::script},
    Starter{.names = "deno go bun", .starts = As::script, .subcommand = "run"},
    // What takes a file or another word.
    Starter{.names = "java", .words = {"-cp -classpath --class-path -p --module-path", ""}},
    Starter{.names = "dotnet scala"},
};

bool holds(std::string_view list, std::string_view name) {
  return std::ranges::any_of(split(list, ' '), [&](const std::string& one) { return one == name; });
}

const Starter* find_starter(std::string_view program) {
  const std::string name = tool_name(program);
  const auto* found =
      std::ranges::find_if(kStarters, [&](const Starter& starter) { return holds(starter.names, name); });
  return found == kStarters.end() ? nullptr : &*found;
}

enum class Option : std::uint8_t { alone, takes_next, last, unclear };

Option read_letters(const Letters& letters, std::string_view cluster) {
  while (!cluster.empty()) {
    const char letter = cluster.front();
    cluster.remove_prefix(1);
    if (letters.last.find(letter) != std::string_view::npos) return Option::last;
    if (letters.unclear.find(letter) != std::string_view::npos) return Option::unclear;
    if (letters.rest.find(letter) != std::string_view::npos) return Option::alone;
    if (letters.valued.find(letter) != std::string_view::npos)
      return cluster.empty() ? Option::takes_next : Option::alone;
  }
  return Option::alone;
}

Option read_option(const Starter& starter, std::string_view option) {
  if (holds(starter.words.last, option)) return Option::last;
  if (holds(starter.words.valued, option)) return Option::takes_next;
  if (option.starts_with("--split-string")) return Option::unclear;
  return option.starts_with("--") ? Option::alone : read_letters(starter.letters, option.substr(1));
}

// Looks for what one starter starts.
class Search {
 public:
  Search(const Starter& starter, const std::vector<std::string>& argv, std::size_t at)
      : starter_(&starter),
        argv_(&argv),
        at_(at),
        operands_(starter.operands),
        subcommand_(starter.subcommand) {}

  enum class End : std::uint8_t { found, nothing, argv_ended };
  End run() {
    while (++at_ < argv_->size()) {
      if (const auto end = step((*argv_)[at_])) return *end;
    }
    return End::argv_ended;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::optional<End> step(std::string_view element) {
    if (options_ && element == "--") {
      options_ = false;
    } else if (options_ && element.size() > 1 && element.starts_with('-')) {
      return option(element);
    } else if (!subcommand_.empty()) {
      if (element != subcommand_) return End::nothing;
      subcommand_ = {};
    } else if (operands_ > 0) {
      --operands_;
    } else if (!assignment(element)) {
      return End::found;
    }
    return std::nullopt;
  }

  std::optional<End> option(std::string_view element) {
    const auto read = read_option(*starter_, element);
    // Code or a module that is still to come would be what the caller names.
    if (read == Option::last) return at_ + 1 == argv_->size() ? End::argv_ended : End::nothing;
    if (read == Option::unclear) return End::argv_ended;
    if (read == Option::takes_next) ++at_;
    return std::nullopt;
  }

  // "env NAME=value program".
  [[nodiscard]] bool assignment(std::string_view element) const {
    return starter_->starts == As::program && element.find('=') != std::string_view::npos;
  }

  const Starter* starter_;
  const std::vector<std::string>* argv_;
  std::size_t at_;
  std::size_t operands_;
  std::string_view subcommand_;
  bool options_ = true;
};

}  // namespace

bool Invocation::executes(std::size_t element) const {
  return std::ranges::find(executed, element, &Executed::element) != executed.end();
}

bool starts_others(std::string_view program) { return find_starter(program) != nullptr; }

Invocation read_invocation(const std::vector<std::string>& argv) {
  Invocation invocation{.executed = {{.element = 0}}};
  for (;;) {
    const auto& last = invocation.executed.back();
    const Starter* starter = last.as == As::script ? nullptr : find_starter(argv[last.element]);
    if (starter == nullptr) return invocation;
    Search search(*starter, argv, last.element);
    const auto end = search.run();
    invocation.next_would_be = end == Search::End::argv_ended;
    if (end != Search::End::found) return invocation;
    invocation.executed.push_back({.element = search.at(), .as = starter->starts});
  }
}

}  // namespace repobridge::policy
