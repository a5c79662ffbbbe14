// Takes flock(2) on the file it is given, as any other program would, says so and sleeps until it is killed.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>

int main(int count, char** arguments) {
  const int fd = count > 1 ? open(arguments[1], O_RDWR | O_CREAT, 0600) : -1;
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) return 1;
  std::printf("%d ready\n", getpid());
  std::fflush(stdout);
  for (;;) pause();
}
