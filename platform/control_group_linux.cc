#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "platform/control_group.h"
#include "platform/deadline.h"
#include "platform/files.h"

namespace repobridge::platform {
namespace {

constexpr std::size_t kMaxProcBytes = 1U << 20U;
constexpr int kMaxDepth = 32;  // of groups within a run's

// The next part of `text`, which is cut off.
std::string_view take(std::string_view& text, char until) {
  const auto end = std::min(text.find(until), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// A path as mountinfo writes it: blanks and backslashes stand as \ooo.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size();
    plain += escape
                 ? static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0')
                 : text[i];
    if (escape) i += 3;
  }
  return plain;
}

struct Mount {
  std::string root;  // the part of the hierarchy that is seen there
  std::string place;
};

// A line: id, parent, device, root, place, options, optional fields, "-", type, …
std::optional<Mount> control_group_mount(std::string_view line) {
  for (int skipped = 0; skipped < 3; ++skipped) (void)take(line, ' ');
  Mount mount;
  mount.root = unescaped(take(line, ' '));
  mount.place = unescaped(take(line, ' '));
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  line.remove_prefix(dash + 3);
  if (take(line, ' ') != "cgroup2") return std::nullopt;
  return mount;
}

std::vector<Mount> mounts_in(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty()) {
    if (auto mount = control_group_mount(take(mountinfo, '\n'))) mounts.push_back(*std::move(mount));
  }
  return mounts;
}

// The group's path within the hierarchy: the line "0::PATH".
std::optional<std::string> membership_in(std::string_view text) {
  while (!text.empty()) {
    auto line = take(text, '\n');
    if (line.starts_with("0::/")) return std::string(line.substr(3));
  }
  return std::nullopt;
}

// `path` as seen from `root`, without the slash at its beginning; nullopt when it lies elsewhere.
std::optional<std::string> beneath(const std::string& root, const std::string& path) {
  if (path == root) return "";
  const std::string above = root == "/" ? root : root + "/";
  if (!path.starts_with(above)) return std::nullopt;
  return path.substr(above.size());
}

Failure no_hierarchy() { return os_failure("find the control groups", ENODATA); }

// Files of /proc and of the hierarchy tell no size, so they are read to their end.
Result<std::string> read_all(int directory, const char* name) {
  const UniqueFd fd(::openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return os_failure("read about control groups", errno);
  std::string text;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while ((got = ::read(fd.get(), chunk.data(), chunk.size())) > 0 && text.size() < kMaxProcBytes) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) return os_failure("read about control groups", errno);
  return text;
}

Result<std::string> mountinfo() { return read_all(AT_FDCWD, "/proc/self/mountinfo"); }

Result<void> write_word(int directory, const char* name, std::string_view word) {
  const UniqueFd fd(::openat(directory, name, O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return os_failure("change a control group", errno);
  return write_all(fd.get(), word);
}

// The groups in the group, deepest first; a file of the kernel's is none.
void remove_groups_in(int directory, int depth) {
  const auto names = list_directory(directory);
  if (!names || depth > kMaxDepth) return;
  for (const auto& name : *names) {
    const UniqueFd inner(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner.valid()) continue;
    remove_groups_in(inner.get(), depth + 1);
    (void)::unlinkat(directory, name.c_str(), AT_REMOVEDIR);
  }
}

// Until the kernel says that no process is left.
Result<void> wait_until_empty(const ControlGroup& group, Deadline deadline) {
  const UniqueFd events(::openat(group.descriptor(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  if (!events.valid()) return os_failure("watch a control group", errno);
  for (;;) {
    RB_TRY(const bool populated, group.populated());
    if (!populated) return {};
    if (deadline.passed()) return os_failure("wait for the end of a control group", ETIMEDOUT);
    pollfd changed{.fd = events.get(), .events = POLLPRI, .revents = 0};
    // A change between the question and this is told at the next one's; so it waits shortly only.
    constexpr int kShortly = 10;
    (void)::poll(&changed, 1, kShortly);
  }
}

}  // namespace

std::vector<std::string> control_group_mounts(std::string_view mountinfo) {
  std::vector<std::string> places;
  for (auto& mount : mounts_in(mountinfo)) places.push_back(std::move(mount.place));
  return places;
}

Result<std::string> control_group_in(std::string_view mountinfo, std::string_view membership) {
  const auto path = membership_in(membership);
  if (!path) return no_hierarchy();
  for (const auto& mount : mounts_in(mountinfo)) {
    const auto inside = beneath(mount.root, *path);
    if (inside) return inside->empty() ? mount.place : mount.place + "/" + *inside;
  }
  return no_hierarchy();
}

Result<std::vector<std::string>> control_group_mounts() {
  RB_TRY(const auto text, mountinfo());
  return control_group_mounts(text);
}

Result<std::string> own_control_group() {
  RB_TRY(const auto mounts, mountinfo());
  RB_TRY(const auto membership, read_all(AT_FDCWD, "/proc/self/cgroup"));
  return control_group_in(mounts, membership);
}

Result<void> check_delegated(const std::string& directory) {
  const std::string processes = directory + "/cgroup.procs";
  if (::faccessat(AT_FDCWD, processes.c_str(), W_OK, AT_EACCESS) != 0) {
    return os_failure("move processes between control groups", errno);
  }
  const std::string path = directory + "/repobridge-trial-" + std::to_string(::getpid());
  (void)::rmdir(path.c_str());  // of an earlier process with that id
  RB_TRY(const auto trial, ControlGroup::make(path));
  const bool kills = ::faccessat(trial.descriptor(), "cgroup.kill", W_OK, AT_EACCESS) == 0;
  RB_CHECK(trial.remove());
  if (!kills) return os_failure("kill a control group", ENOSYS);  // before Linux 5.14
  return {};
}

Result<ControlGroup> ControlGroup::make(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return os_failure("make a control group", errno);
  auto group = open(path);
  if (!group) (void)::rmdir(path.c_str());
  return group;
}

Result<ControlGroup> ControlGroup::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return os_failure("open a control group", errno);
  struct statfs file_system {};
  if (::fstatfs(fd.get(), &file_system) != 0) return os_failure("open a control group", errno);
  if (file_system.f_type != CGROUP2_SUPER_MAGIC) return os_failure("open a control group", ENODATA);
  return ControlGroup(std::move(fd), path);
}

Result<void> ControlGroup::kill() const { return write_word(fd_.get(), "cgroup.kill", "1"); }

Result<bool> ControlGroup::populated() const {
  RB_TRY(const auto events, read_all(fd_.get(), "cgroup.events"));
  return events.find("populated 0") == std::string::npos;
}

Result<void> ControlGroup::remove() const {
  remove_groups_in(fd_.get(), 0);
  if (::rmdir(path_.c_str()) != 0) return os_failure("remove a control group", errno);
  return {};
}

Result<void> end_control_group(const std::string& path, std::chrono::milliseconds limit) {
  RB_TRY(const auto group, ControlGroup::open(path));
  RB_CHECK(group.kill());
  RB_CHECK(wait_until_empty(group, Deadline::after(limit)));
  return group.remove();
}

}  // namespace repobridge::platform
