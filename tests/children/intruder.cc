// Tries what a program in a closed room must not be able to do, one try after the other, and says how each
// went:
//
//     intruder TRY ARGUMENTS... [/ TRY ARGUMENTS...]...
//
// One line for each try: its number from 0 on, "did it" or "could not" and why. The same tries without a room
// show that they are worth something.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;
constexpr int kPatienceMs = 5000;

int number(const std::string& text) { return std::stoi(text); }

// Files.

bool read_some(const Words& words) {
  const int file = ::open(words[1].c_str(), O_RDONLY | O_NONBLOCK);
  std::array<char, 1> byte{};
  return file >= 0 && ::read(file, byte.data(), byte.size()) == 1;
}

bool open_to_read(const Words& words) { return ::open(words[1].c_str(), O_RDONLY | O_NONBLOCK) >= 0; }

bool open_to_write(const Words& words) { return ::open(words[1].c_str(), O_WRONLY) >= 0; }

// Whether it has anything in it.
bool list(const Words& words) {
  DIR* const directory = ::opendir(words[1].c_str());
  if (directory == nullptr) return false;
  int entries = 0;
  while (::readdir(directory) != nullptr) ++entries;
  errno = ENOENT;
  return entries > 2;
}

bool append_to(const Words& words) {
  const int file = ::open(words[1].c_str(), O_WRONLY | O_APPEND);
  return file >= 0 && ::write(file, "!", 1) == 1;
}

bool create(const Words& words) { return ::open(words[1].c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0; }
bool change_mode(const Words& words) { return ::chmod(words[1].c_str(), 0666) == 0; }
bool cut_off(const Words& words) { return ::truncate(words[1].c_str(), 0) == 0; }
bool set_times(const Words& words) { return ::utimensat(AT_FDCWD, words[1].c_str(), nullptr, 0) == 0; }
bool set_attribute(const Words& words) {
  return ::setxattr(words[1].c_str(), "user.intruder", "!", 1, 0) == 0;
}
bool link_to(const Words& words) { return ::link(words[1].c_str(), words[2].c_str()) == 0; }
bool move_to(const Words& words) { return ::rename(words[1].c_str(), words[2].c_str()) == 0; }
bool take_away(const Words& words) { return ::unlink(words[1].c_str()) == 0; }

// The mode that it has already, which does no harm where it is let.
bool change_mode_of(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 && ::fchmod(file, facts.st_mode & 07777) == 0;
}
bool same_mode(const Words& words) { return change_mode_of(::open(words[1].c_str(), O_RDONLY)); }
bool same_mode_of_input(const Words& /*words*/) { return change_mode_of(STDIN_FILENO); }

// A program that is its owner's for whoever starts it, by each way to make one.
bool is_setuid(const char* path) {
  struct stat facts {};
  return ::stat(path, &facts) == 0 && (facts.st_mode & (S_ISUID | S_ISGID)) != 0;
}
bool make_setuid(const std::string& way, const char* path, mode_t mode) {
  constexpr long kFchmodat2 = 452;
  if (way == "chmod") (void)::chmod(path, mode);
  if (way == "fchmod") (void)::fchmod(::open(path, O_RDONLY), mode);
  if (way == "fchmodat") (void)::syscall(SYS_fchmodat, AT_FDCWD, path, mode);
  if (way == "fchmodat2") (void)::syscall(kFchmodat2, AT_FDCWD, path, mode, 0);
  if (way == "open") (void)::syscall(SYS_open, path, O_WRONLY | O_CREAT, mode);
  if (way == "openat") (void)::openat(AT_FDCWD, path, O_WRONLY | O_CREAT, mode);
  if (way == "creat") (void)::syscall(SYS_creat, path, mode);
  if (way == "mknod") (void)::syscall(SYS_mknod, path, S_IFREG | mode, 0);
  if (way == "mknodat") (void)::mknodat(AT_FDCWD, path, S_IFREG | mode, 0);
  if (way == "openat2") {
    open_how how{.flags = O_WRONLY | O_CREAT, .mode = mode, .resolve = 0};
    (void)::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  }
  const int os_code = errno;
  const bool done = is_setuid(path);
  errno = os_code;
  return done;
}
bool set_user(const Words& words) { return make_setuid(words[1], words[2].c_str(), 0755 | S_ISUID); }
bool set_group(const Words& words) { return make_setuid(words[1], words[2].c_str(), 0755 | S_ISGID); }

// Sockets.

bool connect_to(const std::string& name, std::size_t length) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (socket < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), std::begin(address.sun_path));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0;
}

bool connect_unix(const Words& words) { return connect_to(words[1], words[1].size() + 1); }
bool connect_abstract(const Words& words) {
  const std::string name = std::string(1, '\0') + words[1];
  return connect_to(name, name.size());
}
bool pair(const Words& /*words*/) {
  std::array<int, 2> ends{};
  return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0;
}

// From one of a pair, which can be sent from to anywhere, and be connected anew.
bool send_from_pair(const Words& words) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()) != 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(words[1].begin(), words[1].end(), std::begin(address.sun_path));
  return ::sendto(ends[0], "!", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 1;
}
// A kind of its own whose name the kernel takes for datagrams.
bool pair_of(const Words& words) {
  std::array<int, 2> ends{};
  return ::socketpair(number(words[1]), number(words[2]), 0, ends.data()) == 0;
}

int connected(int type, const std::string& port) {
  const int socket = ::socket(AF_INET, type, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(number(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool done = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return done ? socket : -1;
}

bool tcp(const Words& words) { return connected(SOCK_STREAM, words[1]) >= 0; }

// Whether it is answered.
bool udp(const Words& words) {
  const int socket = connected(SOCK_DGRAM, words[1]);
  if (socket < 0 || ::send(socket, "?", 1, 0) != 1) return false;
  pollfd answer{.fd = socket, .events = POLLIN, .revents = 0};
  (void)::poll(&answer, 1, kPatienceMs);
  std::array<char, 1> byte{};
  return ::recv(socket, byte.data(), byte.size(), MSG_DONTWAIT) == 1;
}

bool family(const Words& words) { return ::socket(number(words[1]), SOCK_DGRAM, 0) >= 0; }

// Processes, namespaces and mounts.

bool signal_to(const Words& words) { return ::kill(number(words[1]), 0) == 0; }

bool unshare_users(const Words& /*words*/) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
  int status = 0;
  (void)::waitpid(child, &status, 0);
  errno = WEXITSTATUS(status);
  return errno == 0;
}

bool clone_users(const Words& /*words*/) {
  const long child = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) ::_exit(0);
  return child > 0;
}

// In namespaces of its own, where those can be had, as any user may otherwise.
bool in_own_mounts(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() != 0) (void)::unshare(CLONE_NEWUSER);
    (void)::unshare(CLONE_NEWNS);
    (void)::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    ::_exit(act() ? 0 : errno);
  }
  int status = 0;
  (void)::waitpid(child, &status, 0);
  errno = WEXITSTATUS(status);
  return errno == 0;
}

bool mount_here(const Words& words) {
  return in_own_mounts([&] { return ::mount("tmpfs", words[1].c_str(), "tmpfs", 0, nullptr) == 0; });
}
bool remount(const Words& words) {
  return in_own_mounts([&] {
    const char* const place = words[1].c_str();
    (void)::mount(place, place, nullptr, MS_BIND, nullptr);
    return ::mount(nullptr, place, nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0;
  });
}
// What was laid over a place a moment before, or stands there from the beginning.
bool unmount(const Words& words) {
  return in_own_mounts([&] {
    (void)::mount("tmpfs", words[1].c_str(), "tmpfs", 0, nullptr);
    return ::umount2(words[1].c_str(), MNT_DETACH) == 0;
  });
}
bool new_mounts(const Words& /*words*/) {
  return in_own_mounts([] { return ::open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | AT_RECURSIVE) >= 0; });
}

// Into the namespace of a child of its own.
bool enter_childs(const Words& /*words*/) {
  std::array<int, 2> ready{};
  (void)::pipe(ready.data());
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::unshare(CLONE_NEWUSER);
    (void)!::write(ready[1], "", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  (void)!::read(ready[0], &byte, 1);
  const int place = ::open(("/proc/" + std::to_string(child) + "/ns/user").c_str(), O_RDONLY);
  const bool done = place >= 0 && ::setns(place, CLONE_NEWUSER) == 0;
  const int os_code = errno;
  (void)::kill(child, SIGKILL);
  (void)::waitpid(child, nullptr, 0);
  errno = os_code;
  return done;
}

bool enter_namespace(const Words& words) {
  const int place = ::open(words[1].c_str(), O_RDONLY);
  return place >= 0 && ::setns(place, 0) == 0;
}

// What else leads to others.

bool shared_memory(const Words& words) {
  const int id = ::shmget(number(words[1]), 1, 0);
  return id >= 0 && ::shmat(id, nullptr, SHM_RDONLY) != reinterpret_cast<void*>(-1);
}

// In the ways of other kinds of machine, which would be other numbers for the same calls.
bool call_as(const std::function<long()>& ask_for_own_id) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(ask_for_own_id() == ::getpid() ? 0 : EPERM);
  int status = 0;
  (void)::waitpid(child, &status, 0);
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : ENOSYS;
  return errno == 0;
}
bool as_i386(const Words& /*words*/) {
#ifdef __x86_64__
  constexpr long kGetpid = 20;
  return call_as([] {
    long answer = kGetpid;
    asm volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
    return answer;
  });
#else
  return false;
#endif
}
bool as_x32(const Words& /*words*/) {
  constexpr long kX32 = 0x40000000;
  return call_as([] { return ::syscall(kX32 | SYS_getpid); });
}

bool keyring(const Words& /*words*/) {
  constexpr int kProcessKeyring = -2;
  return ::syscall(SYS_add_key, "user", "intruder", "!", 1, kProcessKeyring) >= 0;
}

bool rings(const Words& /*words*/) {
  std::array<char, 256> parameters{};
  return ::syscall(SYS_io_uring_setup, 1, parameters.data()) >= 0;
}

using Try = bool (*)(const Words&);

const std::map<std::string, Try>& tries() {
  static const std::map<std::string, Try> all{{"read", read_some},
                                              {"open", open_to_read},
                                              {"list", list},
                                              {"open_to_write", open_to_write},
                                              {"append", append_to},
                                              {"create", create},
                                              {"chmod", change_mode},
                                              {"truncate", cut_off},
                                              {"utimensat", set_times},
                                              {"setxattr", set_attribute},
                                              {"link", link_to},
                                              {"rename", move_to},
                                              {"unlink", take_away},
                                              {"connect", connect_unix},
                                              {"abstract", connect_abstract},
                                              {"pair", pair},
                                              {"pair_of", pair_of},
                                              {"datagram", send_from_pair},
                                              {"same_mode", same_mode},
                                              {"same_mode_of_input", same_mode_of_input},
                                              {"setuid", set_user},
                                              {"setgid", set_group},
                                              {"tcp", tcp},
                                              {"udp", udp},
                                              {"family", family},
                                              {"signal", signal_to},
                                              {"unshare", unshare_users},
                                              {"clone", clone_users},
                                              {"mount", mount_here},
                                              {"remount", remount},
                                              {"umount", unmount},
                                              {"open_tree", new_mounts},
                                              {"enter", enter_namespace},
                                              {"setns", enter_childs},
                                              {"shm", shared_memory},
                                              {"add_key", keyring},
                                              {"i386", as_i386},
                                              {"x32", as_x32},
                                              {"io_uring", rings}};
  return all;
}

void attempt(int number_of_try, const Words& words) {
  errno = 0;
  const bool done = tries().at(words.front())(words);
  std::printf("%d %s\n", number_of_try,
              done ? "did it" : ("could not: " + std::string(std::strerror(errno))).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Words words;
  int count = 0;
  for (int i = 1; i <= argc; ++i) {
    const bool end = i == argc || std::strcmp(argv[i], "/") == 0;
    if (!end) {
      words.emplace_back(argv[i]);
      continue;
    }
    if (!words.empty()) attempt(count++, words);
    words.clear();
  }
  return 0;
}
