#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "platform/files.h"
#include "platform/process_table.h"

namespace repobridge::platform {
namespace {

constexpr std::size_t kMaxEnvironmentBytes = 8U << 20U;

std::optional<pid_t> process_id(const std::string& name) {
  pid_t id = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), id);
  if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) return std::nullopt;
  return id;
}

// What one process shows of itself. Files of /proc have no size, so they are read to their end.
class Look {
 public:
  explicit Look(int directory) : directory_(directory) {}

  [[nodiscard]] std::optional<std::string> text(const char* name) const {
    UniqueFd fd(::openat(directory_, name, O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return std::nullopt;
    auto bytes = read_regular(fd.get(), kMaxEnvironmentBytes);
    if (!bytes) return std::nullopt;
    return *std::move(bytes);
  }

  [[nodiscard]] bool of_this_user() const {
    constexpr std::string_view kUid = "\nUid:\t";
    const auto status = text("status").value_or("");
    const auto at = status.find(kUid);
    if (at == std::string::npos) return false;
    uid_t uid = 0;
    const char* begin = status.data() + at + kUid.size();
    return std::from_chars(begin, status.data() + status.size(), uid).ec == std::errc{} && uid == ::getuid();
  }

  [[nodiscard]] bool carries(std::string_view setting) const {
    const std::string wanted = std::string(1, '\0') + std::string(setting) + std::string(1, '\0');
    const auto environment = text("environ").value_or("");
    return (std::string(1, '\0') + environment).find(wanted) != std::string::npos;
  }

  // Nothing when it may not be looked into.
  [[nodiscard]] std::optional<bool> inside(const std::string& directory) const {
    const auto beneath = [&](const Result<std::string>& path) {
      return path && (*path == directory || path->starts_with(directory + "/"));
    };
    const auto at = read_link_beneath(directory_, "cwd");
    if (!at) return std::nullopt;
    if (beneath(at)) return true;
    UniqueFd open(::openat(directory_, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!open.valid()) return std::nullopt;
    const auto names = list_directory(open.get());
    if (!names) return std::nullopt;
    return std::ranges::any_of(
        *names, [&](const std::string& name) { return beneath(read_link_beneath(open.get(), name)); });
  }

 private:
  int directory_;
};

}  // namespace

Result<ProcessTable> find_processes(const std::string& directory, std::string_view setting) {
  RB_TRY(const auto proc, open_directory("/proc"));
  RB_TRY(const auto names, list_directory(proc.get()));
  ProcessTable table;
  for (const auto& name : names) {
    const auto id = process_id(name);
    if (!id || *id == ::getpid()) continue;
    UniqueFd own(::openat(proc.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto identity = identity_of(*id);
    if (!own.valid() || !identity || !may_be_alive(*identity)) continue;
    const Look look(own.get());
    if (!look.of_this_user()) continue;
    const auto inside = look.inside(directory);
    if (!inside) ++table.closed;
    ProcessSeen seen{.process = *identity,
                     .name = look.text("comm").value_or(""),
                     .carries = look.carries(setting),
                     .inside = inside.value_or(false)};
    while (!seen.name.empty() && seen.name.back() == '\n') seen.name.pop_back();
    if (seen.carries || seen.inside) table.seen.push_back(std::move(seen));
  }
  return table;
}

}  // namespace repobridge::platform
