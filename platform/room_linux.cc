// Three processes: this one, which keeps the others alive; the room's first process, to which whoever loses
// his parent there is given; and the program.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "platform/fence.h"
#include "platform/files.h"
#include "platform/pipe.h"
#include "platform/room.h"
#include "platform/room_calls.h"
#include "platform/room_mounts.h"

namespace repobridge::platform {
namespace {

constexpr int kNotStarted = 127;

ExitStatus from_wait(int status) {
  if (WIFEXITED(status)) return ExitStatus{.code = WEXITSTATUS(status), .signal = std::nullopt};
  return ExitStatus{.code = std::nullopt, .signal = WTERMSIG(status)};
}

ExitStatus wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return from_wait(status);
}

void block_signals() {
  sigset_t all;
  (void)sigfillset(&all);
  (void)::sigprocmask(SIG_SETMASK, &all, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
}

// The program's output must end with the program.
void let_go_of_streams() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(null.get(), fd);
}

// That of the room: the one outside is a device of the machine, whose mode its owner may change.
bool take_empty_input() {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return null.valid() && ::dup2(null.get(), STDIN_FILENO) == STDIN_FILENO;
}

// Privileges.

bool may_administer() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  return (sets[0].effective & (1U << static_cast<unsigned>(CAP_SYS_ADMIN))) != 0;
}

// The first three need a privilege themselves. Without it they fail, and the last two are enough.
Result<void> drop_privileges() {
  constexpr unsigned long kNoRoot = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  (void)::prctl(PR_SET_SECUREBITS, kNoRoot);
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (unsigned long one = 0; ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0) == 0; ++one) {
  }
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return os_failure("drop privileges", errno);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return os_failure("give up new privileges", errno);
  return {};
}

// Namespaces.

struct Namespaces {
  bool files = false;
  bool processes = false;
  bool network = false;
  bool ipc = false;
};

bool write_own(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.valid() && write_all(file.get(), text).has_value();
}

// In which this user is itself, and may make the others.
bool enter_users() {
  const auto to_itself = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
  const std::string user = to_itself(::geteuid());
  const std::string group = to_itself(::getegid());
  return ::unshare(CLONE_NEWUSER) == 0 && write_own("/proc/self/setgroups", "deny") &&
         write_own("/proc/self/uid_map", user) && write_own("/proc/self/gid_map", group);
}

bool raise_loopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::memcpy(static_cast<char*>(request.ifr_name), "lo", sizeof "lo");
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// Of the wanted ones, those that could be had. Whoever is born next is the first process of his namespace.
Namespaces enter(const Namespaces& wanted) {
  Namespaces held;
  const bool any = wanted.files || wanted.network || wanted.ipc;
  if (!any || (!may_administer() && !enter_users())) return held;
  held.files = wanted.files && ::unshare(CLONE_NEWNS) == 0 && detach_mounts();
  held.ipc = wanted.ipc && ::unshare(CLONE_NEWIPC) == 0;
  held.network = wanted.network && ::unshare(CLONE_NEWNET) == 0 && raise_loopback();
  held.processes = wanted.processes && held.files && ::unshare(CLONE_NEWPID) == 0;
  return held;
}

// The same, without any of it for this process: nobody can leave a namespace, and one that turns out to be of
// no use is in the way.
Namespaces try_out(const Namespaces& wanted) {
  const auto bits = [](const Namespaces& some) {
    return (some.files ? 1 : 0) | (some.processes ? 2 : 0) | (some.network ? 4 : 0) | (some.ipc ? 8 : 0);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    auto held = enter(wanted);
    const pid_t first = held.processes ? ::fork() : -1;
    if (first == 0) ::_exit(mount_own_proc() ? 0 : 1);
    held.processes = first > 0 && wait_for(first).success();
    ::_exit(bits(held));
  }
  const int found = child < 0 ? 0 : wait_for(child).code.value_or(0);
  return {.files = (found & 1) != 0,
          .processes = (found & 2) != 0,
          .network = (found & 4) != 0,
          .ipc = (found & 8) != 0};
}

RoomParts parts_of(const RoomPlan& plan, const Namespaces& held, const Fence& fence) {
  RoomParts parts;
  const auto note = [&parts](const char* part, bool holds) {
    (holds ? parts.held : parts.missing).emplace_back(part);
  };
  note(room_part::kFiles, held.files);
  note(room_part::kProcesses, held.processes);
  if (!plan.network) note(room_part::kNetwork, held.network);
  note(room_part::kIpc, held.ipc);
  note(room_part::kPrivileges, true);
  note(room_part::kLandlock, fence.holds());
  note(room_part::kCalls, can_refuse_calls());
  return parts;
}

bool lies_in_any(const std::string& path, const std::vector<std::string>& directories) {
  return std::ranges::any_of(directories, [&](const auto& one) { return path.starts_with(one + "/"); });
}

bool has(const std::vector<std::string>& parts, const char* part) {
  return std::ranges::find(parts, part) != parts.end();
}

// The room's first process. It holds nothing that the program could want of it, and cannot be signalled or
// traced from inside.
class First {
 public:
  First(const RoomPlan& plan, const std::vector<std::string>& argv, const RoomEvents& events, Namespaces held)
      : plan_(&plan), argv_(&argv), events_(&events), held_(held) {}

  // `alive`: the end of a pipe whose other end only the process outside holds.
  void live(int alive) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pollfd outside{.fd = alive, .events = 0, .revents = 0};
    if (::poll(&outside, 1, 0) != 0) return;            // it died before the line above
    (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // where it is not the first process of a namespace
    held_.processes = held_.processes && mount_own_proc();
    const auto trial = Fence::around({});
    if (!trial) return events_->failed(trial.error());
    const auto parts = parts_of(*plan_, held_, *trial);
    events_->furnished(parts);
    if (!parts.missing.empty() && !plan_->best_effort) return events_->refused();
    const auto places = places_of(*plan_);
    const auto furnished = furnish_places(places);
    if (!furnished) return events_->failed(furnished.error());
    if (furnished->frozen && !show_frozen()) return;
    const auto started = open(*furnished, has(parts.held, room_part::kCalls));
    if (!started) return events_->failed(started.error());
    events_->started();
    let_go_of_streams();
    follow(*started);
  }

 private:
  struct Places {
    FencedPlaces fenced;
    bool frozen = false;
  };

  // The program.
  [[nodiscard]] Result<pid_t> open(const Places& places, bool filtered) const {
    RB_TRY(const auto fence, Fence::around(places.fenced));
    RB_CHECK(drop_privileges());
    return start(fence, filtered);
  }

  [[nodiscard]] bool show_frozen() const {
    const UniqueFd workdir(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return events_->frozen(workdir.get());
  }

  // What Landlock is to say of them. Without mounts it is all that there is to say. With them it leaves what
  // is hidden within a writable place to them: nothing new could be made in the directories on the way there.
  [[nodiscard]] Result<Places> furnish_places(const RoomPlaces& places) const {
    FencedPlaces fenced{
        .unreadable = places.hidden, .readable = {plan_->workdir, argv_->front()}, .writable = {}};
    if (held_.files) {
      RB_TRY(auto furnished, furnish(*plan_, places, argv_->front()));
      fenced.writable = std::move(furnished.writable);
      std::erase_if(fenced.unreadable, [&](const auto& path) { return lies_in_any(path, fenced.writable); });
      return Places{.fenced = std::move(fenced), .frozen = furnished.frozen};
    }
    fenced.writable = {"/tmp", "/var/tmp", "/dev"};
    if (plan_->writable) fenced.writable.push_back(plan_->workdir);
    if (!plan_->private_home) return Places{.fenced = std::move(fenced)};
    fenced.unreadable.insert(fenced.unreadable.end(), places.homes.begin(), places.homes.end());
    for (const auto& name : plan_->home_read) fenced.readable.push_back(plan_->homes.front() + "/" + name);
    return Places{.fenced = std::move(fenced)};
  }

  [[nodiscard]] Result<pid_t> start(const Fence& fence, bool filtered) const {
    RB_TRY(auto report, make_pipe());
    const pid_t parent = ::getpid();
    const pid_t program = ::fork();
    if (program < 0) return os_failure("start a process", errno);
    if (program == 0) become_program(parent, fence, filtered, report.write.get());
    report.write.reset();
    int os_code = 0;
    ssize_t got = 0;
    do {
      got = ::read(report.read.get(), &os_code, sizeof os_code);
    } while (got < 0 && errno == EINTR);
    if (got != sizeof os_code) return program;
    (void)wait_for(program);
    return os_failure("start the program", os_code);
  }

  [[noreturn]] void become_program(pid_t parent, const Fence& fence, bool filtered, int report) const {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kNotStarted);  // it died before the line above
    (void)::setsid();
    std::vector<char*> pointers;
    for (const auto& word : *argv_) pointers.push_back(const_cast<char*>(word.c_str()));  // NOLINT
    pointers.push_back(nullptr);
    int os_code = take_empty_input() && fence.enter() ? 0 : errno;
    if (const auto refused = filtered && os_code == 0 ? refuse_calls() : Result<void>(); !refused) {
      os_code = refused.error().os_code;
    }
    if (os_code == 0) {
      sigset_t none;
      (void)sigemptyset(&none);
      (void)::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
      (void)::execv(pointers.front(), pointers.data());
      os_code = errno;
    }
    (void)!::write(report, &os_code, sizeof os_code);
    ::_exit(kNotStarted);
  }

  // Until nobody is left. A polite request to end is handed on to the program's process group.
  void follow(pid_t program) const {
    sigset_t awaited;
    (void)sigemptyset(&awaited);
    (void)sigaddset(&awaited, SIGCHLD);
    (void)sigaddset(&awaited, SIGTERM);
    bool alive = true;
    for (;;) {
      int status = 0;
      const pid_t id = ::waitpid(-1, &status, WNOHANG);
      if (id < 0 && errno == ECHILD) return;
      if (id == program) {
        alive = false;
        events_->ended(from_wait(status));
      }
      if (id == 0 && ::sigwaitinfo(&awaited, nullptr) == SIGTERM && alive) {
        (void)::kill(-program, SIGTERM);
        (void)::kill(-program, SIGCONT);
      }
    }
  }

  const RoomPlan* plan_;
  const std::vector<std::string>* argv_;
  const RoomEvents* events_;
  Namespaces held_;
};

// Set when privileges are as they are going to be: a change of them takes both back.
Result<void> close_to_others(pid_t parent) {
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return os_failure("close this process to others", errno);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotStarted);
  return {};
}

Result<pid_t> fork_first(const RoomPlan& plan, const std::vector<std::string>& argv, const RoomEvents& events,
                         const Namespaces& held, Pipe& life) {
  const pid_t first = ::fork();
  if (first < 0) return os_failure("start a process", errno);
  if (first != 0) return first;
  life.write.reset();
  First(plan, argv, events, held).live(life.read.get());
  ::_exit(0);
}

}  // namespace

void run_in_room(const RoomPlan& plan, const std::vector<std::string>& argv, const RoomEvents& events) {
  block_signals();
  const pid_t parent = ::getppid();
  Namespaces wanted{.files = true, .processes = true, .network = !plan.network, .ipc = true};
  if (plan.best_effort) wanted = try_out(wanted);
  const auto held = enter(wanted);
  if (const auto closed = close_to_others(parent); !closed) return events.failed(closed.error());
  auto life = make_pipe();
  if (!life) return events.failed(life.error());
  const auto first = fork_first(plan, argv, events, held, *life);
  if (!first) return events.failed(first.error());
  let_go_of_streams();
  (void)drop_privileges();
  // Whoever kills the first process has killed the program too.
  if (wait_for(*first).signal) (void)::kill(::getpid(), SIGKILL);
}

}  // namespace repobridge::platform
