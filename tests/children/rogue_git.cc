// What the git worker could do if somebody took it over: confined as the worker is, it tries one thing after
// another and says how each ended. rogue_git ROOT POWER SCRATCH OUTSIDE PORT SOCKET
//
// OUTSIDE is a directory with a file `secret` that does not belong to the repository, PORT and SOCKET are
// where somebody listens on loopback. A line each: the name of the try, a tab, "done" or the error's name.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <iostream>
#include <vector>

#include "bridge/git/confinement.h"
#include "bridge/git/repository.h"
#include "bridge/git/user_config.h"
#include "bridge/git/written_directories.h"

namespace {

using namespace repobridge;  // NOLINT(google-build-using-namespace): this is the program

struct Try {
  std::string name;
  std::function<long()> act;  // as a system call: negative is a failure with errno
};

long close_again(int fd) { return fd < 0 ? fd : ::close(fd); }

long write_new(const std::string& path) {
  return close_again(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
}

long open_to(const std::string& path, int flags) {
  return close_again(::open(path.c_str(), flags | O_CLOEXEC));
}

long call_tcp(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return fd;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);  // NOLINT: the call's own type
}

long call_unix(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return fd;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  path.copy(to.sun_path, sizeof to.sun_path - 1);
  return ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);  // NOLINT: the call's own type
}

long run_program() {
  std::array<char*, 2> argv{const_cast<char*>("true"), nullptr};  // NOLINT: as execve wants it
  return ::execve("/bin/true", argv.data(), nullptr);
}

long run_from_memory() {
  const int fd = ::memfd_create("program", 0);
  if (fd < 0) return fd;
  std::array<char*, 2> argv{const_cast<char*>("true"), nullptr};  // NOLINT: as fexecve wants it
  return ::fexecve(fd, argv.data(), argv.data() + 1);
}

std::vector<Try> tries(const std::string& root, const std::string& outside, int port,
                       const std::string& socket_path) {
  const std::string git = root + "/.git/";
  const std::string secret = outside + "/secret";
  return {
      {"exec", run_program},
      {"exec from memory", run_from_memory},
      {"executable memory",
       [] {
         void* at =
             ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return at == MAP_FAILED ? -1L : 0L;
       }},
      {"fork", [] { return ::syscall(SYS_fork); }},
      {"clone", [] { return ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }},
      {"connect tcp", [=] { return call_tcp(port); }},
      {"connect unix", [=] { return call_unix(socket_path); }},
      {"signal the parent", [] { return ::kill(::getppid(), SIGTERM); }},
      {"trace the parent", [] { return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr); }},
      {"new namespaces", [] { return ::unshare(CLONE_NEWUSER); }},
      {"mount", [=] { return ::mount("none", outside.c_str(), "tmpfs", 0, nullptr); }},
      {"io_uring",
       [] {
         io_uring_params parameters{};
         return ::syscall(SYS_io_uring_setup, 1, &parameters);
       }},
      {"read outside", [=] { return open_to(secret, O_RDONLY); }},
      {"list outside", [=] { return open_to(outside, O_RDONLY | O_DIRECTORY); }},
      {"read the user's keys", [] { return open_to("/etc/passwd", O_RDONLY); }},
      {"read its own memory", [] { return open_to("/proc/self/mem", O_RDWR); }},
      {"write outside", [=] { return write_new(outside + "/new"); }},
      {"truncate outside", [=] { return ::truncate(secret.c_str(), 0); }},
      {"chmod outside", [=] { return ::chmod(secret.c_str(), 0777); }},
      {"chmod by syscall", [=] { return ::syscall(SYS_fchmodat, AT_FDCWD, secret.c_str(), 0777); }},
      {"chown outside", [=] { return ::chown(secret.c_str(), ::getuid(), ::getgid()); }},
      {"times outside", [=] { return ::utimensat(AT_FDCWD, secret.c_str(), nullptr, 0); }},
      {"attribute outside", [=] { return ::setxattr(secret.c_str(), "user.x", "y", 1, 0); }},
      {"remove outside", [=] { return ::unlink(secret.c_str()); }},
      {"rename outside", [=] { return ::rename(secret.c_str(), (outside + "/elsewhere").c_str()); }},
      {"link from outside", [=] { return ::link(secret.c_str(), (git + "objects/secret").c_str()); }},
      {"symlink", [=] { return ::symlink("/etc/passwd", (git + "objects/link").c_str()); }},
      {"fifo", [=] { return ::mkfifo((git + "objects/fifo").c_str(), 0600); }},
      {"write a hook", [=] { return write_new(git + "hooks/pre-commit"); }},
      {"write the configuration", [=] { return open_to(git + "config", O_WRONLY | O_APPEND); }},
      {"replace the configuration",
       [=] { return ::rename((git + "HEAD").c_str(), (git + "config").c_str()); }},
      {"write attributes", [=] { return write_new(git + "info/attributes"); }},
      {"write a file of the work tree", [=] { return open_to(root + "/a", O_WRONLY); }},
      {"new file in the work tree", [=] { return write_new(root + "/new"); }},
      {"remove a file of the work tree", [=] { return ::unlink((root + "/a").c_str()); }},
      {"chmod a file of the work tree", [=] { return ::chmod((root + "/a").c_str(), 0755); }},
      {"setuid by descriptor",
       [=] {
         const int fd = ::open((root + "/a").c_str(), O_RDONLY | O_CLOEXEC);
         return fd < 0 ? fd : ::fchmod(fd, 04755);
       }},
      {"write the index", [=] { return open_to(git + "index", O_WRONLY); }},
      {"write HEAD", [=] { return open_to(git + "HEAD", O_WRONLY); }},
      // What looking needs, and what a commit needs.
      {"read the work tree", [=] { return open_to(root + "/a", O_RDONLY); }},
      {"write an object", [=] { return write_new(git + "objects/rogue"); }},
  };
}

Result<void> confine_as_worker(const std::string& root, const std::string& power_name,
                               const std::string& scratch) {
  const auto power = git::find_power(power_name);
  if (!power) return fail(Error{.kind = Kind::invalid, .code = "USAGE", .message = "no such power"});
  RB_TRY(const auto here, git::audit_workdir(root));
  RB_TRY(const auto user, git::UserConfig::read(here));
  RB_TRY(const auto repository, git::Repository::open(root, user));
  return git::confine(repository, user, *power, scratch);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  if (given.size() != 6 && given.size() != 7) return 2;
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  git_libgit2_init();
  const auto all = tries(given[0], given[3], std::stoi(given[4]), given[5]);
  const auto confined = given[1] == "free" ? Result<void>() : confine_as_worker(given[0], given[1], given[2]);
  if (!confined) {
    std::cerr << confined.error().code << "\n";
    return 1;
  }
  for (const auto& one : all) {
    if (given.size() == 7 && given[6] != one.name) continue;
    errno = 0;
    const bool done = one.act() >= 0;
    std::cout << one.name << "\t" << (done ? "done" : ::strerrorname_np(errno))
              << std::endl;  // a try may end it
  }
  ::_exit(0);  // a sanitizer's last look needs more than is allowed
}
