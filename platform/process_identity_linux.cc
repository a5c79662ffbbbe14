#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <vector>

#include "platform/process_identity.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {
namespace {

// The fields of /proc/PID/stat that follow the command name, which is in parentheses and may hold anything.
struct Stat {
  char state = 'R';
  std::uint64_t started = 0;
};

Result<std::string> read_small(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return os_failure("read about a process", errno);
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got < 0) return os_failure("read about a process", errno);
  return std::string(buffer.data(), static_cast<std::size_t>(got));
}

Result<Stat> stat_of(pid_t pid) {
  constexpr std::size_t kState = 0;
  constexpr std::size_t kStarted = 19;  // proc(5) counts it as field 22; two stand before the state
  RB_TRY(const auto text, read_small("/proc/" + std::to_string(pid) + "/stat"));
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return os_failure("read about a process", EPROTO);
  std::vector<std::string_view> fields;
  std::string_view rest = std::string_view(text).substr(name_end + 1);
  while (!rest.empty()) {
    const auto begin = rest.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    const auto end = std::min(rest.find_first_of(" \n"), rest.size());
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (fields.size() <= kStarted) return os_failure("read about a process", EPROTO);
  Stat stat{.state = fields[kState].front()};
  const auto started = fields[kStarted];
  const auto parsed = std::from_chars(started.data(), started.data() + started.size(), stat.started);
  if (parsed.ec != std::errc{}) return os_failure("read about a process", EPROTO);
  return stat;
}

}  // namespace

Result<std::string> boot_id() {
  RB_TRY(auto text, read_small("/proc/sys/kernel/random/boot_id"));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<ProcessIdentity> identity_of(pid_t pid) {
  RB_TRY(const auto stat, stat_of(pid));
  return ProcessIdentity{.pid = pid, .started = stat.started};
}

bool may_be_alive(const ProcessIdentity& process) {
  const auto stat = stat_of(process.pid);
  if (!stat) return stat.error().os_code != ENOENT && stat.error().os_code != ESRCH;
  return stat->started == process.started && stat->state != 'Z' && stat->state != 'X';
}

}  // namespace repobridge::platform
