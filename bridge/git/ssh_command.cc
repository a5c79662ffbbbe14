#include "bridge/git/ssh_command.h"

#include <algorithm>

#include "policy/text.h"

namespace repobridge::git {
namespace {

// The shell takes such a word as it stands.
bool is_plain(std::string_view word) {
  return std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '.' || c == '_' || c == '-' || c == '+' || c == '~';
  });
}

}  // namespace

std::optional<std::string> unattended_ssh(std::string_view users, std::string_view log) {
  const auto command = users.empty() ? "ssh" : policy::trimmed(users);
  const auto program = command.substr(0, command.find_first_of(" \t"));
  if (!is_plain(program) || program.substr(program.rfind('/') + 1) != "ssh") return std::nullopt;
  // Before the user's own options, so that these count.
  return std::string(program) +
         " -o BatchMode=yes -o ControlMaster=no -o ControlPath=none -o LogLevel=INFO -E " + std::string(log) +
         std::string(command.substr(program.size()));
}

}  // namespace repobridge::git
