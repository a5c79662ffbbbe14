#include "platform/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <optional>

#include "platform/files.h"

namespace repobridge::platform {
namespace {

constexpr int kMostLinks = 40;        // as the kernel has it
constexpr int kMostInterpreters = 5;  // likewise

Failure refusal(std::string code, std::string message) {
  return fail(Error{.kind = Kind::invalid, .code = std::move(code), .message = std::move(message)});
}

Failure not_found() { return refusal("PROGRAM_NOT_FOUND", "the program is not there"); }

bool is_executable_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) return false;
  const auto facts = facts_of(fd.get());
  return facts && facts->is_regular() && ::access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(separators), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

// Walks a path as the kernel does, writing down every link.
class Walk {
 public:
  explicit Walk(std::vector<ProgramHop>& hops) : hops_(&hops) {}

  // The path of what the name leads to, without links.
  Result<std::string> resolve(const std::string& absolute_path) {
    push(absolute_path);
    while (!pending_.empty()) {
      const std::string name = pending_.front();
      pending_.pop_front();
      if (name == ".") continue;
      if (name == "..") {
        leave();
      } else {
        RB_CHECK(enter(name));
      }
    }
    return here_;
  }

 private:
  void push(const std::string& path) {
    const auto names = words_of(path, "/");
    pending_.insert(pending_.begin(), names.begin(), names.end());
    if (path.starts_with('/')) here_.clear();
  }

  void leave() {
    // Were it replaced by a link, ".." would lead elsewhere.
    hops_->push_back({.path = here_.empty() ? "/" : here_});
    here_.resize(std::min(here_.size(), here_.rfind('/')));
  }

  Result<void> enter(const std::string& name) {
    const std::string next = here_ + "/" + name;
    RB_TRY(const auto facts, facts_of_path(next));
    if (!facts) return not_found();
    if (!facts->is_link()) {
      here_ = next;
      return {};
    }
    if (++links_ > kMostLinks) return not_found();
    hops_->push_back({.path = next});
    RB_TRY(const auto target, read_link_beneath(AT_FDCWD, next));
    push(target);
    return {};
  }

  std::vector<ProgramHop>* hops_;
  std::deque<std::string> pending_;
  std::string here_;  // "" is the root
  int links_ = 0;
};

// The words of a script's first line; empty for what is no script, or cannot be read and so is none.
std::vector<std::string> script_line(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::array<char, 256> buffer{};
  const ssize_t got = fd.valid() ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (got <= 2) return {};
  std::string_view line(buffer.data(), static_cast<std::size_t>(got));
  if (!line.starts_with("#!")) return {};
  line = line.substr(2, line.find_first_of(std::string_view("\n\0", 2)) - 2);
  return words_of(line, " \t\r");
}

// The program that env(1) starts when a "#!" line names it.
std::optional<std::string> started_by_env(const std::vector<std::string>& words) {
  if (!words.front().ends_with("/env")) return std::nullopt;
  const auto plain = std::ranges::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !word.starts_with('-') && word.find('=') == std::string::npos;
  });
  return plain == words.end() ? std::nullopt : std::optional(*plain);
}

Result<void> follow(const std::string& path, std::string_view search_path, int depth,
                    std::vector<ProgramHop>& hops) {
  if (depth > kMostInterpreters) {
    return refusal("PROGRAM_INTERPRETER", "the program's interpreters name each other without end");
  }
  RB_TRY(const auto file, Walk(hops).resolve(path));
  if (!is_executable_file(file)) {
    return refusal("PROGRAM_NOT_EXECUTABLE", "the program is not an executable regular file");
  }
  hops.push_back({.path = file, .runs = true});
  const auto words = script_line(file);
  if (words.empty()) return {};
  if (!words.front().starts_with('/')) {
    return refusal("PROGRAM_INTERPRETER", "the program's '#!' line does not name an absolute path");
  }
  RB_CHECK(follow(words.front(), search_path, depth + 1, hops));
  const auto started = started_by_env(words);
  if (!started) return {};
  if (started->find('/') != std::string::npos && !started->starts_with('/')) {
    return refusal("PROGRAM_INTERPRETER", "the program's '#!' line does not name an absolute path");
  }
  auto found =
      started->starts_with('/') ? Result<std::string>(*started) : find_program(*started, search_path);
  if (!found) {
    return refusal("PROGRAM_INTERPRETER", "the interpreter that its '#!' line names is not on PATH");
  }
  return follow(*found, search_path, depth + 1, hops);
}

}  // namespace

Result<std::string> find_program(const std::string& name, std::string_view search_path) {
  for (const auto& directory : words_of(search_path, ":")) {
    if (!directory.starts_with('/')) continue;
    std::string candidate = directory + (directory.ends_with('/') ? "" : "/") + name;
    if (is_executable_file(candidate)) return candidate;
  }
  return refusal("PROGRAM_NOT_FOUND", "no absolute directory of PATH has an executable file of that name");
}

Result<std::vector<ProgramHop>> follow_program(const std::string& absolute_path,
                                               std::string_view search_path) {
  std::vector<ProgramHop> hops;
  RB_CHECK(follow(absolute_path, search_path, 0, hops));
  return hops;
}

}  // namespace repobridge::platform
