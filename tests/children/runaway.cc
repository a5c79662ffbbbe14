// Ends, leaving behind a process that its parent cannot know: in a session of its own, two forks away, deaf
// to every signal that can be ignored. That one says "PID ready" first.
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

int main() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return 1;
  if (fork() != 0) {
    close(ends[1]);
    char ready = 0;
    return read(ends[0], &ready, 1) == 1 ? 0 : 1;  // only when the other one is at work
  }
  (void)setsid();
  if (fork() != 0) _exit(0);
  for (int number = 1; number < NSIG; ++number) (void)signal(number, SIG_IGN);
  std::printf("%d ready\n", getpid());
  std::fflush(stdout);
  (void)!write(ends[1], "", 1);
  for (;;) pause();
}
