// Kills a program at the nth step that others could see.
//
//   kill_at FILE PROGRAM [ARGUMENT…]
//
// FILE holds the number, counted from 1; nothing or 0 is never. It is read, and counting begins, at the
// start; and at each SIGUSR1 again, after which FILE is emptied as a sign that it is in force. A step is a
// call to the system that changes a file, sends something or starts a process; the program dies before the
// step is made. SIGTERM is passed on, and the program's end is this one's too.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>

namespace {

constexpr int kSyscallStop = SIGTRAP | 0x80;
constexpr std::array<std::uint64_t, 13> kSteps = {
    SYS_mkdirat, SYS_linkat, SYS_renameat, SYS_unlinkat, SYS_fsync,  SYS_fdatasync, SYS_clone,
    SYS_clone3,  SYS_write,  SYS_sendto,   SYS_sendmsg,  SYS_writev, SYS_ftruncate};
#ifdef SYS_mkdir  // where the system has the older calls too
constexpr std::array<std::uint64_t, 6> kOlderSteps = {SYS_mkdir,  SYS_link,  SYS_rename,
                                                      SYS_unlink, SYS_rmdir, SYS_vfork};
#else
constexpr std::array<std::uint64_t, 0> kOlderSteps = {};
#endif

class Tracer {
 public:
  Tracer(const char* file, pid_t program) : file_(file), program_(program) {}

  int follow() {
    sigset_t watched{};
    sigemptyset(&watched);
    for (const int number : {SIGUSR1, SIGTERM, SIGCHLD}) sigaddset(&watched, number);
    begin_to_count();
    for (;;) {
      const int number = ::sigwaitinfo(&watched, nullptr);
      if (number == SIGUSR1) {
        begin_to_count();
        (void)!::truncate(file_, 0);
      }
      if (number == SIGTERM) (void)::kill(program_, SIGTERM);
      for (int status = 0; ::waitpid(program_, &status, __WALL | WNOHANG) > 0;) {
        if (WIFSTOPPED(status)) {
          go_on_from(status);
        } else {
          return end_like(status);
        }
      }
    }
  }

 private:
  void begin_to_count() {
    std::FILE* file = std::fopen(file_, "r");
    if (file == nullptr || std::fscanf(file, "%ld", &left_) != 1) left_ = 0;
    if (file != nullptr) (void)std::fclose(file);
    if (left_ > 0) (void)::ptrace(PTRACE_INTERRUPT, program_, nullptr, nullptr);
  }

  void go_on_from(int status) {
    const int number = WSTOPSIG(status);
    const bool is_event = status >> 16 != 0;  // our interrupt, or a stop of the whole process
    if (is_event && number != SIGTRAP) {
      (void)::ptrace(PTRACE_LISTEN, program_, nullptr, nullptr);
      return;
    }
    if (number == kSyscallStop && is_last_step()) {
      (void)::kill(program_, SIGKILL);
      return;
    }
    const long delivered = is_event || number == kSyscallStop ? 0 : number;
    (void)::ptrace(left_ > 0 ? PTRACE_SYSCALL : PTRACE_CONT, program_, nullptr, delivered);
  }

  bool is_last_step() {
    __ptrace_syscall_info info{};
    (void)::ptrace(PTRACE_GET_SYSCALL_INFO, program_, sizeof info, &info);
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
    const auto is = [&](std::uint64_t step) { return step == info.entry.nr; };
    if (std::ranges::none_of(kSteps, is) && std::ranges::none_of(kOlderSteps, is)) return false;
    return --left_ == 0;
  }

  static int end_like(int status) {
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    (void)::raise(WTERMSIG(status));
    return 1;
  }

  const char* file_;
  pid_t program_;
  long left_ = 0;
};

[[noreturn]] void become_program(int traced, const sigset_t& mask, char** argv) {
  char byte = 0;
  (void)!::read(traced, &byte, 1);
  (void)::sigprocmask(SIG_SETMASK, &mask, nullptr);
  (void)::execv(argv[0], argv);
  ::_exit(127);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 111;
  sigset_t watched{};
  sigset_t before{};
  sigemptyset(&watched);
  for (const int number : {SIGUSR1, SIGTERM, SIGCHLD}) sigaddset(&watched, number);
  (void)::sigprocmask(SIG_BLOCK, &watched, &before);
  std::array<int, 2> traced{};
  if (::pipe2(traced.data(), O_CLOEXEC) != 0) return 111;
  const pid_t program = ::fork();
  if (program == 0) become_program(traced[0], before, argv + 2);
  if (::ptrace(PTRACE_SEIZE, program, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) != 0) return 111;
  (void)!::write(traced[1], "", 1);
  return Tracer(argv[1], program).follow();
}
