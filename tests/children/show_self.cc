// Says on standard output what it was given, a line each: arguments, environment, descriptors, directory,
// session, blocked and ignored signals, and whether it may gain privileges. Then exits with code 7.
#include <dirent.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

void show_descriptors() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    const std::string name(static_cast<const char*>(entry->d_name));
    if (name.front() == '.' || name == std::to_string(dirfd(directory))) continue;
    std::array<char, 4096> target{};
    (void)!readlink(("/proc/self/fd/" + name).c_str(), target.data(), target.size() - 1);
    std::printf("fd %s %s\n", name.c_str(), target.data());
  }
  closedir(directory);
}

void show_signals() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) std::printf("blocked %s\n", line.substr(8).c_str());
    if (line.starts_with("SigIgn:")) std::printf("ignored %s\n", line.substr(8).c_str());
    if (line.starts_with("NoNewPrivs:")) std::printf("no_new_privs %s\n", line.substr(12).c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 0; i < count; ++i) std::printf("arg %s\n", arguments[i]);
  for (char** entry = environ; *entry != nullptr; ++entry) std::printf("env %s\n", *entry);
  show_descriptors();
  show_signals();
  std::array<char, 4096> directory{};
  if (getcwd(directory.data(), directory.size()) != nullptr) std::printf("cwd %s\n", directory.data());
  std::printf("session %s\n", getsid(0) == getpid() ? "own" : "inherited");
  int death_signal = 0;
  (void)prctl(PR_GET_PDEATHSIG, &death_signal);
  std::printf("death_signal %d\n", death_signal);
  return 7;
}
