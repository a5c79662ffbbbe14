// The portable tree, level L0: a session, its process group, and a lifeline, a pipe that everything inherits
// and whose end of file says that nobody holds it any more.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "platform/process_group.h"
#include "platform/process_tree.h"

namespace repobridge::platform {
namespace {

// Where the program finds the lifeline: far above what programs use.
constexpr int kLifeline = 198;
// The supervisor was started with three descriptors beside the usual ones, and opens a few.
constexpr int kHighestOfOurs = 64;

// The signal handler writes there, and is given nothing by which it could find anybody's.
int wake_up = -1;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void on_child(int /*number*/) {
  const int os_code = errno;
  (void)!::write(wake_up, "", 1);
  errno = os_code;
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// pipe2() is not everywhere; nobody forks beside us.
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return os_failure("make a pipe", errno);
  Pipe pipe{.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
  for (const int fd : ends) (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return pipe;
}

void make_non_blocking(int fd) { (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// All signals but the one about children, whose handler wakes whoever polls the pipe.
Result<void> listen_for_children(int wake) {
  wake_up = wake;
  struct sigaction action {};
  action.sa_handler = on_child;
  action.sa_flags = SA_RESTART;
  if (::sigaction(SIGCHLD, &action, nullptr) != 0) return os_failure("listen for children", errno);
  sigset_t blocked;
  (void)sigfillset(&blocked);
  (void)sigdelset(&blocked, SIGCHLD);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (::sigprocmask(SIG_SETMASK, &blocked, nullptr) != 0) return os_failure("block signals", errno);
  return {};
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become_leader(const std::vector<char*>& argv, int lifeline, int report, int room) {
  (void)::setsid();
  for (int fd = STDERR_FILENO + 1; fd <= kHighestOfOurs; ++fd) (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (::dup2(lifeline, kLifeline) >= 0) {
    // The report may stand where the room looks for its own.
    if (room >= 0) {
      report = ::fcntl(report, F_DUPFD_CLOEXEC, kRoomDescriptor + 1);
      room = ::fcntl(room, F_DUPFD_CLOEXEC, kRoomDescriptor + 1);
      (void)::dup2(room, kRoomDescriptor);
    }
    (void)::signal(SIGCHLD, SIG_DFL);
    (void)::signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
    (void)::execv(argv.front(), argv.data());
  }
  const int os_code = errno;
  (void)!::write(report, &os_code, sizeof os_code);
  ::_exit(127);
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

ExitStatus from_info(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return ExitStatus{.code = info.si_status, .signal = std::nullopt};
  return ExitStatus{.code = std::nullopt, .signal = info.si_status};
}

}  // namespace

struct ProcessTree::State {
  Pipe changes;
  Pipe lifeline;
  Containment held;
  pid_t leader = -1;
  bool leader_ended = false;

  // End of file: everybody who had inherited it has closed it or ended. What is written there is nothing.
  [[nodiscard]] bool lifeline_held() const {
    std::array<char, 4096> bytes{};
    ssize_t got = 0;
    do {
      got = ::read(lifeline.read.get(), bytes.data(), bytes.size());
    } while (got > 0);
    return got != 0;
  }

  [[nodiscard]] std::size_t alive() const { return alive_in_group(leader).value_or(1); }
};

ProcessTree::ProcessTree(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessTree::ProcessTree(ProcessTree&& other) noexcept = default;
ProcessTree::~ProcessTree() = default;

// NOLINTNEXTLINE(performance-unnecessary-value-param): the other tree keeps it
Result<ProcessTree> ProcessTree::root(std::string /*control_group*/) {
  (void)::setsid();  // fails only where we lead a group already, which serves as well
  auto state = std::make_unique<State>();
  RB_TRY(state->changes, make_pipe());
  RB_TRY(state->lifeline, make_pipe());
  make_non_blocking(state->changes.read.get());
  make_non_blocking(state->changes.write.get());
  make_non_blocking(state->lifeline.read.get());
  RB_CHECK(listen_for_children(state->changes.write.get()));
  return ProcessTree(std::move(state));
}

int ProcessTree::changes() const { return state_->changes.read.get(); }

void ProcessTree::take_changes() const {
  std::array<char, 1024> bytes{};
  while (::read(changes(), bytes.data(), bytes.size()) > 0) {
  }
}

const Containment& ProcessTree::containment() const { return state_->held; }

Result<pid_t> ProcessTree::start(const std::vector<std::string>& argv, int room) {
  std::vector<char*> pointers;
  for (const auto& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));  // NOLINT
  pointers.push_back(nullptr);
  RB_TRY(auto report, make_pipe());
  const pid_t leader = ::fork();
  if (leader < 0) return os_failure("start a process", errno);
  if (leader == 0) become_leader(pointers, state_->lifeline.write.get(), report.write.get(), room);
  state_->lifeline.write.reset();
  report.write.reset();
  if (const int os_code = read_report(report.read.get()); os_code != 0) {
    (void)::waitpid(leader, nullptr, 0);  // it never was a leader, so nobody else should hear of it
    return fail(Error{.kind = Kind::internal,
                      .code = "START_FAILED",
                      .message = "the program could not be started",
                      .os_code = os_code});
  }
  state_->leader = leader;
  return leader;
}

void ProcessTree::ask_to_end() const {
  (void)::kill(-state_->leader, SIGTERM);
  (void)::kill(-state_->leader, SIGCONT);
}

// Who holds the lifeline is not known, only that somebody does; looking through all processes of a busy
// machine would take longer than killing.
std::size_t ProcessTree::kill_all() {
  const bool held = state_->lifeline_held();
  const std::size_t found = held ? 1 : state_->alive();
  (void)::kill(-state_->leader, SIGKILL);
  return found;
}

// The leader stays a zombie until all is over, so that its group's id means no other group.
ReapRound ProcessTree::reap() {
  ReapRound round;
  if (state_->leader < 0) {
    round.none_left = true;
    return round;
  }
  siginfo_t info{};
  const auto id = static_cast<id_t>(state_->leader);
  if (!state_->leader_ended && ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == state_->leader) {
    state_->leader_ended = true;
    round.ended.push_back({.pid = state_->leader, .status = from_info(info)});
  }
  if (!state_->leader_ended || state_->lifeline_held() || state_->alive() > 0) return round;
  (void)::waitpid(state_->leader, nullptr, 0);
  round.none_left = true;
  return round;
}

}  // namespace repobridge::platform
