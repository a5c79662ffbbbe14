#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "platform/child_process.h"

namespace repobridge::platform {
namespace {

// Descriptors, the directory's too, are first copied up here, so that dup2() onto 0, 1, 2, 3… never
// overwrites one still needed and never meets its own number, where it would leave close-on-exec set.
constexpr int kHighDescriptor = 100;

Failure start_failure(int os_code) {
  return fail(Error{.kind = Kind::internal,
                    .code = "START_FAILED",
                    .message = "the program could not be started",
                    .os_code = os_code});
}

std::vector<char*> as_pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  // posix_spawn() takes char* for history's sake and changes nothing.
  for (const auto& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));  // NOLINT
  pointers.push_back(nullptr);
  return pointers;
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  int null(int target, int flags) {
    return posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", flags, 0);
  }
  int place(int source, int target) {
    if (!raise(source)) return errno;
    return posix_spawn_file_actions_adddup2(&actions_, held_.back().get(), target);
  }
  int enter(int directory) {
    if (!raise(directory)) return errno;
    return posix_spawn_file_actions_addfchdir_np(&actions_, held_.back().get());
  }
  int close_from(int first) { return posix_spawn_file_actions_addclosefrom_np(&actions_, first); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  bool raise(int fd) {
    held_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor));
    return held_.back().valid();
  }

  posix_spawn_file_actions_t actions_{};
  std::vector<UniqueFd> held_;
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

int describe(const SpawnRequest& request, FileActions& actions) {
  int rc = request.standard_input < 0 ? actions.null(STDIN_FILENO, O_RDONLY)
                                      : actions.place(request.standard_input, STDIN_FILENO);
  if (rc == 0) {
    rc = request.standard_output < 0 ? actions.null(STDOUT_FILENO, O_WRONLY)
                                     : actions.place(request.standard_output, STDOUT_FILENO);
  }
  if (rc == 0 && request.standard_error >= 0) rc = actions.place(request.standard_error, STDERR_FILENO);
  int next = STDERR_FILENO + 1;
  for (const int fd : request.passed) {
    if (rc == 0) rc = actions.place(fd, next++);
  }
  if (rc == 0 && request.working_directory >= 0) rc = actions.enter(request.working_directory);
  return rc == 0 ? actions.close_from(next) : rc;
}

}  // namespace

Result<ChildProcess> ChildProcess::spawn(const SpawnRequest& request) {
  FileActions actions;
  const Attributes attributes;
  const auto argv = as_pointers(request.argv);
  const auto environment = as_pointers(request.environment);
  int rc = describe(request, actions);
  if (rc != 0) return start_failure(rc);
  pid_t pid = -1;
  rc = ::posix_spawn(&pid, request.program.c_str(), actions.get(), attributes.get(), argv.data(),
                     environment.data());
  if (rc != 0) return start_failure(rc);
  UniqueFd exit_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int os_code = errno;
  ChildProcess child(pid, std::move(exit_fd));  // from here on its destructor ends the process
  if (!child.exit_fd_.valid()) return start_failure(os_code);
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_fd_(std::move(other.exit_fd_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  if (exit_fd_.valid()) {
    signal(SIGKILL);
  } else {
    (void)::kill(pid_, SIGKILL);  // just started and not reaped yet, so the id is still this process's
  }
  (void)reap();
}

void ChildProcess::signal(int number) const {
  (void)::syscall(SYS_pidfd_send_signal, exit_fd_.get(), number, nullptr, 0U);
}

ExitStatus ChildProcess::reap() {
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(pid_, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  pid_ = -1;
  if (reaped < 0) return {};  // somebody else took the status, and an unknown end is no success
  if (WIFEXITED(status)) return ExitStatus{.code = WEXITSTATUS(status), .signal = std::nullopt};
  return ExitStatus{.code = std::nullopt, .signal = WTERMSIG(status)};
}

}  // namespace repobridge::platform
