// Never stands still: each process starts the next one in a session of its own and ends, for ever, so that a
// list of process ids is stale as soon as it is made.
#include <unistd.h>

int main() {
  for (;;) {
    const pid_t next = fork();
    if (next != 0) _exit(0);
    (void)setsid();
  }
}
