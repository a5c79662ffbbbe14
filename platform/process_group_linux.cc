#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>

#include "platform/files.h"
#include "platform/process_group.h"

namespace repobridge::platform {
namespace {

struct Member {
  char state = 'R';
  pid_t group = 0;
};

// Of /proc/PID/stat: "PID (NAME) STATE PARENT GROUP …", where the name may hold anything.
std::optional<Member> parse(std::string_view text) {
  const auto name_end = text.rfind(") ");
  if (name_end == std::string_view::npos || text.size() < name_end + 5) return std::nullopt;
  Member member{.state = text[name_end + 2]};
  const auto parent = name_end + 4;
  const auto group = text.find(' ', parent);
  if (group == std::string_view::npos) return std::nullopt;
  (void)std::from_chars(text.data() + group + 1, text.data() + text.size(), member.group);
  return member;
}

std::optional<Member> look_at(int processes, const std::string& id) {
  const UniqueFd fd(::openat(processes, (id + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;  // it has ended
  std::array<char, 1024> text{};
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  return parse(std::string_view(text.data(), static_cast<std::size_t>(got)));
}

}  // namespace

Result<std::size_t> alive_in_group(pid_t group) {
  RB_TRY(const auto processes, open_directory("/proc"));
  RB_TRY(const auto names, list_directory(processes.get()));
  const auto alive = std::ranges::count_if(names, [&](const auto& name) {
    if (name.front() < '0' || name.front() > '9') return false;
    const auto member = look_at(processes.get(), name);
    return member && member->group == group && member->state != 'Z' && member->state != 'X';
  });
  return static_cast<std::size_t>(alive);
}

}  // namespace repobridge::platform
