#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <optional>
#include <unordered_set>

#include "platform/control_group.h"
#include "platform/fence.h"
#include "platform/process_tree.h"

namespace repobridge::platform {
namespace {

// More than a fork bomb within its limits shows in one round; what is missed is met in the next.
constexpr std::size_t kMostPerRound = 20000;

void append_ids(std::string_view text, std::vector<pid_t>& ids) {
  while (!text.empty()) {
    pid_t id = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), id);
    if (parsed.ec == std::errc{}) ids.push_back(id);
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return;
    text.remove_prefix(space + 1);
  }
}

void append_children_of_thread(const std::string& thread, std::vector<pid_t>& ids) {
  UniqueFd fd(::open((thread + "/children").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return;  // the thread has ended, and its children are no longer its own
  std::string text;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while ((got = ::read(fd.get(), chunk.data(), chunk.size())) > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  append_ids(text, ids);
}

void append_children(pid_t parent, std::vector<pid_t>& ids) {
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(tasks.c_str()), &::closedir);
  if (!stream) return;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name(static_cast<const char*>(entry->d_name));
    if (name.front() != '.') append_children_of_thread(tasks + "/" + name, ids);
  }
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become_leader(pid_t root, const Fence& fence, const std::vector<char*>& argv, int report,
                                int room) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != root) ::_exit(127);  // the root died before the line above
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  (void)::setsid();
  if (room >= 0 || fence.enter()) {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
    (void)::signal(SIGPIPE, SIG_DFL);
    (void)::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    if (room >= 0) {
      // The report may stand where the room looks for its own.
      report = ::fcntl(report, F_DUPFD_CLOEXEC, kRoomDescriptor + 1);
      room = ::fcntl(room, F_DUPFD_CLOEXEC, kRoomDescriptor + 1);
      (void)::dup2(room, kRoomDescriptor);
    }
    (void)::execv(argv.front(), argv.data());
  }
  const int os_code = errno;
  (void)!::write(report, &os_code, sizeof os_code);
  ::_exit(127);
}

// A copy of this process, born in the group.
pid_t fork_into(const ControlGroup& group) {
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<decltype(arguments.cgroup)>(group.descriptor());
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

ExitStatus from_wait(int status) {
  if (WIFEXITED(status)) return ExitStatus{.code = WEXITSTATUS(status), .signal = std::nullopt};
  return ExitStatus{.code = std::nullopt, .signal = WTERMSIG(status)};
}

Failure start_failed(int os_code) {
  return fail(Error{.kind = Kind::internal,
                    .code = "START_FAILED",
                    .message = "the program could not be started",
                    .os_code = os_code});
}

// What exec said; 0 when it succeeded.
int read_report(int report) {
  int os_code = 0;
  ssize_t got = 0;
  do {
    got = ::read(report, &os_code, sizeof os_code);
  } while (got < 0 && errno == EINTR);
  return got == sizeof os_code ? os_code : 0;
}

Result<UniqueFd> listen_for_children() {
  sigset_t all;
  (void)sigfillset(&all);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (::sigprocmask(SIG_BLOCK, &all, nullptr) != 0) return os_failure("block signals", errno);
  sigset_t child;
  (void)sigemptyset(&child);
  (void)sigaddset(&child, SIGCHLD);
  UniqueFd fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return os_failure("listen for children", errno);
  return fd;
}

// One round over the descendants; how many there were.
std::size_t kill_descendants() {
  std::vector<pid_t> found;
  append_children(::getpid(), found);
  std::unordered_set<pid_t> seen;
  // Parents before children, each stopped before its children are listed, so that it cannot add to them.
  for (std::size_t i = 0; i < found.size() && i < kMostPerRound; ++i) {
    const pid_t id = found[i];
    if (!seen.insert(id).second) continue;
    (void)::kill(id, SIGSTOP);
    append_children(id, found);
  }
  for (const pid_t id : seen) (void)::kill(id, SIGKILL);
  return seen.size();
}

}  // namespace

struct ProcessTree::State {
  UniqueFd changes;
  std::string group_path;
  Fence fence;
  Containment held;
  std::optional<ControlGroup> group;
  pid_t leader = -1;

  // The group is made now, and left again when nothing can be born in it.
  pid_t fork_leader() {
    if (!group_path.empty()) {
      if (auto made = ControlGroup::make(group_path)) group.emplace(*std::move(made));
    }
    if (group) {
      const pid_t id = fork_into(*group);
      if (id >= 0) return id;
      (void)group->remove();
      group.reset();
    }
    held.control_group = false;
    return ::fork();
  }

  // The kernel's second word, after "no child": the group is empty, so that it could be removed.
  bool remove_group() {
    if (group && !group->remove()) return false;
    group.reset();
    return true;
  }
};

ProcessTree::ProcessTree(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessTree::ProcessTree(ProcessTree&& other) noexcept = default;
ProcessTree::~ProcessTree() = default;

Result<ProcessTree> ProcessTree::root(std::string control_group) {
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return os_failure("close this process to others", errno);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return os_failure("become a subreaper", errno);
  (void)::setsid();  // fails only where we lead a group already, which serves as well
  auto state = std::make_unique<State>();
  RB_TRY(state->changes, listen_for_children());
  state->fence = Fence::build();
  state->held = {.subreaper = true, .control_group = !control_group.empty()};
  state->fence.held_by(state->held);
  state->group_path = std::move(control_group);
  return ProcessTree(std::move(state));
}

int ProcessTree::changes() const { return state_->changes.get(); }

void ProcessTree::take_changes() const {
  std::array<char, 1024> events{};  // only a wake-up: reap() asks the kernel itself
  while (::read(changes(), events.data(), events.size()) > 0) {
  }
}

const Containment& ProcessTree::containment() const { return state_->held; }

Result<pid_t> ProcessTree::start(const std::vector<std::string>& argv, int room) {
  std::vector<char*> pointers;
  for (const auto& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));  // NOLINT
  pointers.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_failure("make a pipe", errno);
  UniqueFd report_read(ends[0]);
  UniqueFd report_write(ends[1]);
  const pid_t root = ::getpid();
  const pid_t leader = state_->fork_leader();
  if (leader < 0) return os_failure("start a process", errno);
  if (leader == 0) become_leader(root, state_->fence, pointers, report_write.get(), room);
  report_write.reset();
  if (const int os_code = read_report(report_read.get()); os_code != 0) {
    (void)::waitpid(leader, nullptr, 0);  // it never was a leader, so nobody else should hear of it
    return start_failed(os_code);
  }
  state_->leader = leader;
  return leader;
}

void ProcessTree::ask_to_end() const {
  (void)::kill(-state_->leader, SIGTERM);
  (void)::kill(-state_->leader, SIGCONT);
}

std::size_t ProcessTree::kill_all() {
  const std::size_t found = kill_descendants();
  if (state_->group) (void)state_->group->kill();
  return found;
}

ReapRound ProcessTree::reap() {
  ReapRound round;
  for (;;) {
    int status = 0;
    const pid_t id = ::waitpid(-1, &status, WNOHANG);
    if (id < 0 && errno == EINTR) continue;
    if (id < 0) round.none_left = errno == ECHILD && state_->remove_group();
    if (id <= 0) return round;
    round.ended.push_back({.pid = id, .status = from_wait(status)});
  }
}

}  // namespace repobridge::platform
