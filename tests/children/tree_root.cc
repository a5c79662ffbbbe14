// Becomes the root of a process tree and starts what it is told; then does what the first argument says:
//   wait  waits for the leader to end, says how and whether anything is left, and ends all of it
//   end   asks the leader to end as soon as its state changes, and goes on like wait
// Lines on standard output: what became of it, word by word.
#include <poll.h>
#include <sys/prctl.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "platform/process_tree.h"

namespace {

using namespace repobridge;

// Until a child changes its state.
void wait_for_change(const platform::ProcessTree& tree) {
  pollfd ready{.fd = tree.changes(), .events = POLLIN, .revents = 0};
  (void)poll(&ready, 1, -1);
  tree.take_changes();
}

void say(const platform::Reaped& ended) {
  if (ended.status.code) std::printf("leader code %d\n", *ended.status.code);
  if (ended.status.signal) std::printf("leader signal %d\n", *ended.status.signal);
}

// Returns whether anything is left when the leader has ended.
bool wait_for_leader(platform::ProcessTree& tree, pid_t leader, bool end) {
  for (;;) {
    wait_for_change(tree);
    const auto round = tree.reap();
    for (const auto& ended : round.ended) {
      if (ended.pid != leader) continue;
      say(ended);
      return !round.none_left;
    }
    if (end) tree.ask_to_end();
  }
}

void end_all(platform::ProcessTree& tree) {
  for (;;) {
    (void)tree.kill_all();
    if (tree.reap().none_left) return;
  }
}

}  // namespace

int main(int count, char** arguments) {
  auto tree = platform::ProcessTree::root("");
  if (!tree || count < 3) return 2;
  std::printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
  std::fflush(stdout);
  const auto leader = tree->start(std::vector<std::string>(arguments + 2, arguments + count));
  if (!leader) {
    std::printf("refused %s %d none_left %d\n", leader.error().code.c_str(), leader.error().os_code,
                tree->reap().none_left ? 1 : 0);
    return 3;
  }
  const bool left = wait_for_leader(*tree, *leader, std::string_view(arguments[1]) == "end");
  std::printf("left %d\n", left ? 1 : 0);
  std::fflush(stdout);
  end_all(*tree);
  std::printf("gone\n");
  return 0;
}
