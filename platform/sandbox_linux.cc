#include "platform/sandbox.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "platform/landlock.h"

namespace repobridge::platform {
namespace {

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                                 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER |
                                 landlock::kTruncate;

Failure unavailable(const char* layer, int os_code) {
  return fail(Error{.kind = Kind::unavailable,
                    .code = "SANDBOX_UNAVAILABLE",
                    .message = std::string("this kernel does not offer ") + layer,
                    .os_code = os_code});
}

// Everything that the kernel lets a process give up.
Result<landlock::Ruleset> give_up_all(int version) {
  auto ruleset =
      landlock::Ruleset::make(version, {.files = landlock::known_file_rights(version),
                                        .network = landlock::kNetBindTcp | landlock::kNetConnectTcp,
                                        .scopes = landlock::kScopeAbstractSockets | landlock::kScopeSignals});
  if (!ruleset) return unavailable("Landlock", ruleset.error().os_code);
  return ruleset;
}

// What reading and writing files, memory and time need. Everything else gets ENOSYS, as from a kernel that
// never had it, so that libraries take their older ways.
constexpr std::array kAllowedCalls = {
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
    SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(close), SCMP_SYS(fcntl), SCMP_SYS(dup), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(stat), SCMP_SYS(fstat),
    SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
    SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(ftruncate), SCMP_SYS(rename), SCMP_SYS(renameat),
    SCMP_SYS(renameat2), SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
    SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(rmdir), SCMP_SYS(umask), SCMP_SYS(memfd_create),
    SCMP_SYS(munmap), SCMP_SYS(mremap),

    SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time),
    SCMP_SYS(getrandom), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(uname), SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
    // A pipe leads nowhere but back; sanitizers try memory through one.
    SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
    SCMP_SYS(rseq), SCMP_SYS(set_robust_list)};

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), &::seccomp_release) {}

  Result<void> load() {
    if (!context_) return unavailable("seccomp", ENOMEM);
    bool added = true;
    for (const int call : kAllowedCalls) added = allow(call, {}) && added;
    // Memory that can be executed is what was there from the start.
    // (The library's macros for arguments are C, which clang does not take for C++.)
    const scmp_arg_cmp not_executable{.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0};
    added = allow(SCMP_SYS(mmap), {not_executable}) && allow(SCMP_SYS(mprotect), {not_executable}) && added;
    // Modes of files: never an executable, setuid or setgid bit, and only through a descriptor.
    constexpr scmp_datum_t kNeverSet = 07111;
    const scmp_arg_cmp plain_mode{.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = kNeverSet, .datum_b = 0};
    added = allow(SCMP_SYS(fchmod), {plain_mode}) && added;
    // Times too only through a descriptor: without a name.
    const scmp_arg_cmp no_name{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = 0, .datum_b = 0};
    added = allow(SCMP_SYS(utimensat), {no_name}) && added;
    // abort() signals the process itself.
    const auto self = static_cast<scmp_datum_t>(::getpid());
    const scmp_arg_cmp to_itself{.arg = 0, .op = SCMP_CMP_EQ, .datum_a = self, .datum_b = 0};
    added = allow(SCMP_SYS(tgkill), {to_itself}) && added;
    if (!added) return unavailable("a seccomp filter that fits", EINVAL);
    const int rc = ::seccomp_load(context_.get());
    return rc == 0 ? Result<void>() : unavailable("seccomp", -rc);
  }

 private:
  bool allow(int call, std::vector<scmp_arg_cmp> arguments) {
    const int rc = ::seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call,
                                            static_cast<unsigned>(arguments.size()), arguments.data());
    return rc == 0 || rc == -EDOM;  // EDOM: this machine's kind has no such call
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
};

}  // namespace

Result<void> enter_sandbox(const std::vector<Grant>& grants) {
  const int version = landlock::version();
  if (version < 1) return unavailable("Landlock", errno);
  RB_TRY(const auto ruleset, give_up_all(version));
  for (const auto& grant : grants) {
    RB_CHECK(ruleset.grant(grant.descriptor, grant.access == Access::write ? kRead | kWrite : kRead));
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return os_failure("give up new privileges", errno);
  if (!landlock::restrict_self(ruleset.descriptor())) return unavailable("Landlock", errno);
  return Filter().load();
}

Result<void> try_sandbox() {
  const pid_t child = ::fork();
  if (child < 0) return os_failure("start a process", errno);
  if (child == 0) ::_exit(enter_sandbox({}) ? 0 : 1);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool entered = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return entered ? Result<void>() : unavailable("Landlock or seccomp", ENOSYS);
}

Result<void> limit_resources(const ResourceLimits& limits) {
  const auto set = [](auto resource, std::uint64_t value) {
    const rlimit bound{.rlim_cur = value, .rlim_max = value};
    return ::setrlimit(resource, &bound) == 0;
  };
  const bool done = set(RLIMIT_CORE, 0) && set(RLIMIT_CPU, limits.processor_seconds) &&
                    set(RLIMIT_FSIZE, limits.file_bytes) && set(RLIMIT_NOFILE, limits.descriptors);
  if (!done) return os_failure("bound this process's resources", errno);
  return {};
}

}  // namespace repobridge::platform
