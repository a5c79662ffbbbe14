// A child of tests/children at work: started, read from, and gone when the test ends.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "platform/child_process.h"
#include "platform/files.h"
#include "tests/unit/results.h"

namespace repobridge::tests {

inline std::string path_of_child(const std::string& name) { return RB_CHILDREN "/" + name; }

class Child {
 public:
  Child(const std::string& name, const std::vector<std::string>& arguments,
        platform::SpawnRequest request = {}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    output_ = platform::UniqueFd(ends[0]);
    const platform::UniqueFd theirs(ends[1]);
    request.program = path_of_child(name);
    request.argv = {name};
    request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
    request.standard_output = theirs.get();
    process_.emplace(value_of(platform::ChildProcess::spawn(request)));
  }

  [[nodiscard]] platform::ChildProcess& process() { return *process_; }
  [[nodiscard]] const platform::ChildProcess& process() const { return *process_; }

  // The next line without its newline; nullopt at the end of the output.
  std::optional<std::string> line() {
    std::string text;
    for (char c = 0; read_one(c);) {
      if (c == '\n') return text;
      text += c;
    }
    return text.empty() ? std::nullopt : std::optional(text);
  }

  // All lines up to the end of the output.
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    while (auto next = line()) all.push_back(*std::move(next));
    return all;
  }

  // Until it says "PID ready"; that PID, which may be of a descendant, or -1.
  pid_t wait_until_ready() {
    while (const auto text = line()) {
      pid_t pid = -1;
      const auto parsed = std::from_chars(text->data(), text->data() + text->size(), pid);
      if (parsed.ec == std::errc{} && text->ends_with(" ready")) return pid;
    }
    return -1;
  }

 private:
  bool read_one(char& c) const {
    ssize_t got = 0;
    do {
      got = ::read(output_.get(), &c, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1;
  }

  platform::UniqueFd output_;
  std::optional<platform::ChildProcess> process_;
};

}  // namespace repobridge::tests
