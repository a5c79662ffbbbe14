// Becomes the root of a process tree and starts what it is told; then does what the first argument says:
//   wait  waits for the leader to end, says how and whether anything is left, and ends all of it
//   end   asks the leader to end as soon as its state changes, and goes on like wait
// Lines on standard output: what became of it, word by word.
#include <poll.h>
#include <sys/prctl.h>

#include <sys/signalfd.h>
#include <unistd.h>
#include <cstdio>
#include <string_view>
#include <vector>

#include "platform/process_tree.h"

namespace {

using namespace repobridge;

// Until a child changes its state.
void wait_for_change(int fd) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  (void)poll(&ready, 1, -1);
  signalfd_siginfo told{};
  (void)!read(fd, &told, sizeof told);
}

void say(const platform::Reaped& ended) {
  if (ended.status.code) std::printf("leader code %d\n", *ended.status.code);
  if (ended.status.signal) std::printf("leader signal %d\n", *ended.status.signal);
}

// Returns whether anything is left when the leader has ended.
bool wait_for_leader(pid_t leader, int fd, bool end) {
  for (;;) {
    wait_for_change(fd);
    const auto round = platform::reap();
    for (const auto& ended : round.ended) {
      if (ended.pid != leader) continue;
      say(ended);
      return !round.none_left;
    }
    if (end) platform::ask_to_end(leader);
  }
}

void end_all() {
  for (;;) {
    (void)platform::kill_descendants();
    if (platform::reap().none_left) return;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto changes = platform::become_tree_root();
  if (!changes || count < 3) return 2;
  std::printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
  std::fflush(stdout);
  const auto leader = platform::start_leader(std::vector<std::string>(arguments + 2, arguments + count));
  if (!leader) {
    std::printf("refused %s %d none_left %d\n", leader.error().code.c_str(), leader.error().os_code,
                platform::reap().none_left ? 1 : 0);
    return 3;
  }
  const bool left = wait_for_leader(*leader, changes->get(), std::string_view(arguments[1]) == "end");
  std::printf("left %d\n", left ? 1 : 0);
  std::fflush(stdout);
  end_all();
  std::printf("gone\n");
  return 0;
}
