// Says "PID ready" and sleeps until it is killed. With "stop" it stops itself first.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

int main(int count, char** arguments) {
  std::printf("%d ready\n", getpid());
  std::fflush(stdout);
  if (count > 1 && std::string_view(arguments[1]) == "stop") (void)raise(SIGSTOP);
  for (;;) pause();
}
