// Becomes another program, on a kernel that seems to have no Landlock: `without_landlock PROGRAM ARGUMENT...`
#include "tests/children/without_landlock.h"

#include <unistd.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count < 2 || !repobridge::tests::hide_landlock()) return 2;
  execv(arguments[1], arguments + 1);
  std::perror("execv");
  return 2;
}
