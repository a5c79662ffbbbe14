// Programs that do to their supervisor what programs do. One binary; the first argument says what.
//
//   misbehave MODE [LIFE] [GO MARKER] [PLACE]
//
// LIFE is a FIFO that a test reads: every process of the tree holds it open for writing, so its end of file
// is the end of them all. A process that has reached the state its mode is about writes its id there as a
// line. GO is a FIFO from which the late writer waits for a byte before it makes the file MARKER. PLACE is
// what the mode needs beside: a control group, a socket or a program.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

int life = -1;
const char* go = nullptr;
const char* marker = nullptr;
const char* place = "";

void report() {
  const std::string line = std::to_string(::getpid()) + "\n";
  if (life >= 0) (void)!::write(life, line.data(), line.size());
}

[[noreturn]] void stay() {
  for (;;) ::pause();
}

[[noreturn]] void report_and_stay() {
  report();
  stay();
}

void ignore_all_signals() {
  for (int number = 1; number < NSIG; ++number) (void)std::signal(number, SIG_IGN);
}

// Runs `work` in a child; returns its id.
template <class Work>
pid_t in_child(Work work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  work();
  ::_exit(0);
}

// A daemon as books describe it: its parent is gone, it leads a session, it asks for no signal.
template <class Work>
void in_daemon(Work work) {
  const pid_t between = in_child([&] {
    (void)::setsid();
    (void)in_child([&] {
      ignore_all_signals();
      work();
    });
  });
  (void)::waitpid(between, nullptr, 0);
}

void do_wait() { report_and_stay(); }

void on_term(int /*number*/) {
  report();
  ::_exit(7);
}
void do_polite() {
  (void)std::signal(SIGTERM, on_term);
  report_and_stay();
}

void do_stubborn() {
  ignore_all_signals();
  report_and_stay();
}

void do_session() {
  (void)in_child([] {
    (void)::setsid();
    report_and_stay();
  });
  stay();
}

void do_daemon() {
  in_daemon(report_and_stay);
  stay();
}

void do_group() {
  (void)in_child([] {
    (void)::setpgid(0, 0);
    report_and_stay();
  });
  stay();
}

void do_sibling() {
  if (::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) {
    (void)::setsid();
    report_and_stay();
  }
  stay();
}

void do_subreaper() {
  (void)in_child([] {
    (void)::setsid();
    (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    in_daemon(report_and_stay);
    stay();
  });
  stay();
}

void do_immortal() {
  (void)in_child([] {
    (void)::prctl(PR_SET_PDEATHSIG, 0);
    (void)::setsid();
    ignore_all_signals();
    report_and_stay();
  });
  stay();
}

// Who cannot be caught must not outlive the test that wanted to see it caught.
bool test_is_there() {
  pollfd reader{.fd = life, .events = POLLOUT, .revents = 0};
  (void)::poll(&reader, 1, 0);
  return (reader.revents & POLLERR) == 0;
}

// Each process lives only until it has made the next. A moment's rest, or a machine whose first process reaps
// slowly would have no room for anything else.
void do_chain() {
  constexpr useconds_t kRest = 300;
  report();
  (void)::setsid();
  while (test_is_there()) {
    (void)::usleep(kRest);
    if (::fork() > 0) ::_exit(0);
  }
}

void do_chains() {
  constexpr int kChains = 8;
  for (int i = 0; i < kChains; ++i) (void)in_child(do_chain);
  stay();
}

void do_zombies() {
  constexpr int kZombies = 100;
  for (int i = 0; i < kZombies; ++i) {
    const pid_t child = in_child([] {});
    siginfo_t ended{};
    (void)::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  }
  report_and_stay();
}

void do_vfork() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (::vfork() == 0) {
    report();
    for (;;) ::pause();
  }
#pragma GCC diagnostic pop
}

void do_stopped() {
  const pid_t child = in_child([] { (void)::raise(SIGSTOP); });
  siginfo_t stopped{};
  (void)::waitid(P_PID, static_cast<id_t>(child), &stopped, WSTOPPED | WNOWAIT);
  report();
  (void)::raise(SIGSTOP);
  stay();
}

void do_traced() {
  const pid_t child = in_child([] {
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    (void)::raise(SIGSTOP);
  });
  (void)::waitpid(child, nullptr, 0);
  report_and_stay();
}

void* thread_body(void* /*nothing*/) { stay(); }
void do_threads() {
  constexpr int kThreads = 20;
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread{};
    (void)::pthread_create(&thread, nullptr, thread_body, nullptr);
  }
  report();
  ::pthread_exit(nullptr);
}

// Ends well and leaves somebody behind, who holds its output too.
void do_leaver() {
  std::array<int, 2> ready{};
  (void)!::pipe(ready.data());
  in_daemon([&] {
    (void)!::write(ready[1], "", 1);
    report_and_stay();
  });
  char byte = 0;
  (void)!::read(ready[0], &byte, 1);
  (void)!::write(STDOUT_FILENO, "ok\n", 3);
}

void do_flood() {
  static constexpr std::array<char, 65536> kBytes{};
  report();
  while (::write(STDOUT_FILENO, kBytes.data(), kBytes.size()) > 0) {
  }
}

void do_flood_both() {
  static constexpr std::array<char, 4096> kBytes{};
  report();
  while (::write(STDERR_FILENO, kBytes.data(), kBytes.size()) > 0 && ::write(STDOUT_FILENO, "", 1) > 0) {
  }
}

void do_stubborn_flood() {
  ignore_all_signals();
  do_flood();
}

void do_trickle() {
  report();
  constexpr useconds_t kPause = 1000;
  while (::write(STDOUT_FILENO, ".", 1) > 0) (void)::usleep(kPause);
}

void do_silent() {
  (void)::close(STDOUT_FILENO);
  (void)::close(STDERR_FILENO);
  report_and_stay();
}

// Whoever reads at the other end must not notice, nor this process get stuck.
void do_unblocking() {
  static constexpr std::array<char, 65536> kBytes{};
  (void)::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  while (::write(STDOUT_FILENO, kBytes.data(), kBytes.size()) > 0) {
  }
  (void)!::write(STDERR_FILENO, errno == EAGAIN ? "full\n" : "other\n", 5);
}

// As many as may be, each of them trying for more.
void do_bomb() {
  constexpr rlim_t kMost = 300;
  const rlimit bound{.rlim_cur = kMost, .rlim_max = kMost};
  (void)::setrlimit(RLIMIT_NPROC, &bound);
  report();
  for (;;) {
    if (::fork() < 0) (void)::sched_yield();
  }
}

// The first process of a process namespace, which no signal from inside or outside but SIGKILL reaches.
void do_namespace() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) std::perror("unshare");
  (void)in_child([] {
    ignore_all_signals();
    (void)in_child([] {
      (void)::setsid();
      ignore_all_signals();
      report_and_stay();
    });
    stay();
  });
  stay();
}

// PLACE is a copy of this program that belongs to root and has the setuid bit.
void do_setuid() {
  (void)::fcntl(life, F_SETFD, 0);
  const std::string life_fd = "/proc/self/fd/" + std::to_string(life);
  (void)::execl(place, place, "privileged", life_fd.c_str(), nullptr);
  std::perror("exec");
}
void do_privileged() {
  (void)std::printf("user %s\n", ::geteuid() == ::getuid() ? "same" : "another");
  (void)std::fflush(stdout);
  if (::setresuid(0, 0, 0) != 0) std::perror("setresuid");
  report_and_stay();
}

void do_too_large() {
  const rlimit bound{.rlim_cur = 4096, .rlim_max = 4096};
  (void)::setrlimit(RLIMIT_FSIZE, &bound);
  const int file = ::open(marker, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  (void)::unlink(marker);
  static constexpr std::array<char, 65536> kBytes{};
  while (::write(file, kBytes.data(), kBytes.size()) > 0) {
  }
}

// Hands its output to somebody outside, who listens at PLACE.
void do_pass_output() {
  const int outside = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (void)std::strncpy(address.sun_path, place, sizeof address.sun_path - 1);
  if (::connect(outside, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    std::perror("connect");
  char byte = 'x';
  iovec content{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  *header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  const int passed = STDOUT_FILENO;
  std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  if (::sendmsg(outside, &message, 0) < 0) std::perror("sendmsg");
  (void)!::read(outside, &byte, 1);  // until it has it
}

// Writes to the work tree long after it should have gone.
void write_late() {
  const int input = ::open(go, O_RDWR);  // not only for reading, which would wait for a writer here already
  report();
  char byte = 0;
  while (::read(input, &byte, 1) != 1) {
  }
  (void)::close(::open(marker, O_CREAT | O_WRONLY, 0600));
}
void do_late() {
  ignore_all_signals();
  write_late();
}
void do_late_daemon() {
  in_daemon(write_late);
  stay();
}

pid_t parent_of(pid_t id) {
  std::array<char, 512> text{};
  const int file = ::open(("/proc/" + std::to_string(id) + "/stat").c_str(), O_RDONLY);
  (void)!::read(file, text.data(), text.size() - 1);
  const char* name_end = std::strrchr(text.data(), ')');
  return name_end == nullptr ? -1 : std::atoi(name_end + 4);  // behind it " S PARENT"
}

std::string name_of(pid_t id) {
  std::array<char, 16> name{};
  const int file = ::open(("/proc/" + std::to_string(id) + "/comm").c_str(), O_RDONLY);
  const auto got = ::read(file, name.data(), name.size());
  return {name.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

// Above the room's own processes; 0 where they are not to be seen.
pid_t supervisor() {
  pid_t id = ::getppid();
  while (id > 1 && !name_of(id).starts_with("repobridge-run")) id = parent_of(id);
  return id > 1 ? id : 0;
}

// Whose parent has ended has another one, and that is nobody of ours.
bool is_ours(pid_t id) { return id > 1 && name_of(id).starts_with("repobridge"); }

[[noreturn]] void kill_or_report(pid_t id) {
  if (is_ours(id) && ::kill(id, SIGKILL) != 0) {
    std::perror("kill");
    report();
  }
  stay();
}

// Gives up every descriptor by which it could be noticed.
void do_hidden() {
  in_daemon([] {
    for (int fd = 0; fd < 1024; ++fd) {
      if (fd != life) (void)::close(fd);
    }
    write_late();
  });
}

void do_kill_supervisor() {
  in_daemon(write_late);
  kill_or_report(supervisor());
}

// Out of its control group, whose parent is PLACE, and then like the one before.
void do_migrate() {
  const std::string processes = std::string(place) + "/cgroup.procs";
  in_daemon([&] {
    const int group = ::open(processes.c_str(), O_WRONLY);
    if (group < 0 || ::write(group, "0", 1) != 1) std::perror("migrate");
    write_late();
  });
  kill_or_report(::getppid());
}

// A group in its own group, which is the one below PLACE, and itself in there.
void do_subgroup() {
  std::array<char, 4096> text{};
  const int file = ::open("/proc/self/cgroup", O_RDONLY);
  (void)!::read(file, text.data(), text.size() - 1);
  std::string_view own = std::strstr(text.data(), "0::");
  own = own.substr(0, own.find('\n'));
  const std::string inner = std::string(place) + std::string(own.substr(own.rfind('/'))) + "/inner";
  if (::mkdir(inner.c_str(), 0700) != 0) std::perror("group");
  const int processes = ::open((inner + "/cgroup.procs").c_str(), O_WRONLY);
  if (processes >= 0) (void)!::write(processes, "0", 1);
  ignore_all_signals();
  report_and_stay();
}

// Ends by itself and leaves a child in its group, which holds its output.
void do_child_holds() {
  std::array<int, 2> ready{};
  (void)!::pipe(ready.data());
  (void)in_child([&] {
    (void)!::write(ready[1], "", 1);
    report_and_stay();
  });
  char byte = 0;
  (void)!::read(ready[0], &byte, 1);
  (void)!::write(STDOUT_FILENO, "ok\n", 3);
}

void do_kill_bridge() {
  in_daemon(write_late);
  kill_or_report(parent_of(supervisor()));
}

// What of those who watch it, and of control groups, it can reach. PLACE is its own group's parent.
void do_reach() {
  const auto say = [](const char* what, bool done) {
    (void)std::printf("%s: %s\n", what, done ? "done" : std::strerror(errno));
  };
  say("signal", ::kill(::getppid(), 0) == 0);
  say("attach", ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0);
  say("move", ::open((std::string(place) + "/cgroup.procs").c_str(), O_WRONLY) >= 0);
  say("group", ::mkdir((std::string(place) + "/repobridge-escape").c_str(), 0700) == 0);
  (void)::rmdir((std::string(place) + "/repobridge-escape").c_str());
  say("system", ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_WRONLY) >= 0);
  say("mount", ::mount("none", "/mnt", "tmpfs", 0, nullptr) == 0);
  const pid_t child = in_child(stay);
  say("own child", ::kill(child, SIGKILL) == 0);
}

// Whether the supervisor's secret can be had.
void do_pry() {
  const std::string proc = "/proc/" + std::to_string(::getppid());
  for (const char* entry : {"/mem", "/environ", "/fd/3", "/fd/5", "/maps"}) {
    const int fd = ::open((proc + entry).c_str(), O_RDONLY);
    (void)std::printf("%s %s\n", entry, fd < 0 ? std::strerror(errno) : "open");
  }
  const long traced = ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr);
  (void)std::printf("ptrace %s\n", traced < 0 ? std::strerror(errno) : "attached");
}

// What a child of an action has at hand.
void show_surroundings(bool with_values) {
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 && fd != life) (void)std::printf("descriptor %d\n", fd);
  }
  char byte = 0;
  (void)std::printf("input %zd\n", ::read(STDIN_FILENO, &byte, 1));
  (void)std::printf("terminal %s\n", ::open("/dev/tty", O_RDWR) < 0 ? std::strerror(errno) : "open");
  (void)std::printf("session %s\n", ::getsid(0) == ::getpid() ? "own" : "another's");
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view whole = *setting;
    const auto shown = with_values ? whole : whole.substr(0, whole.find('='));
    (void)std::printf("setting %.*s\n", static_cast<int>(shown.size()), shown.data());
  }
}
void do_surroundings() { show_surroundings(true); }
void do_surroundings_by_name() { show_surroundings(false); }

struct Mode {
  std::string_view name;
  void (*run)();
};
constexpr std::array<Mode, 42> kModes{{{"wait", do_wait},
                                       {"polite", do_polite},
                                       {"stubborn", do_stubborn},
                                       {"session", do_session},
                                       {"daemon", do_daemon},
                                       {"group", do_group},
                                       {"sibling", do_sibling},
                                       {"subreaper", do_subreaper},
                                       {"immortal", do_immortal},
                                       {"chain", do_chain},
                                       {"chains", do_chains},
                                       {"zombies", do_zombies},
                                       {"vfork", do_vfork},
                                       {"stopped", do_stopped},
                                       {"traced", do_traced},
                                       {"threads", do_threads},
                                       {"leaver", do_leaver},
                                       {"flood", do_flood},
                                       {"flood_both", do_flood_both},
                                       {"stubborn_flood", do_stubborn_flood},
                                       {"trickle", do_trickle},
                                       {"silent", do_silent},
                                       {"unblocking", do_unblocking},
                                       {"bomb", do_bomb},
                                       {"namespace", do_namespace},
                                       {"setuid", do_setuid},
                                       {"privileged", do_privileged},
                                       {"too_large", do_too_large},
                                       {"pass_output", do_pass_output},
                                       {"migrate", do_migrate},
                                       {"kill_bridge", do_kill_bridge},
                                       {"reach", do_reach},
                                       {"subgroup", do_subgroup},
                                       {"hidden", do_hidden},
                                       {"child_holds", do_child_holds},
                                       {"late", do_late},
                                       {"late_daemon", do_late_daemon},
                                       {"kill_supervisor", do_kill_supervisor},
                                       {"pry", do_pry},
                                       {"surroundings", do_surroundings},
                                       {"surroundings_by_name", do_surroundings_by_name},
                                       {"nothing", [] {}}}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 111;
  const std::string_view mode = argv[1];
  if (mode == "exit" && argc == 3) return std::atoi(argv[2]);
  if (mode == "signal" && argc == 3) return ::raise(std::atoi(argv[2]));
  if (argc > 2) life = ::open(argv[2], O_WRONLY | O_CLOEXEC);
  if (argc > 4) {
    go = argv[3];
    marker = argv[4];
  }
  if (argc > 5) place = argv[5];
  const auto* found = std::ranges::find(kModes, mode, &Mode::name);
  if (found == kModes.end()) return 111;
  found->run();
  return 0;
}
