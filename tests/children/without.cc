// Becomes another program, on a kernel that seems to lack something: `without landlock|namespaces|seccomp
// PROGRAM ARGUMENT...`
#include "tests/children/without.h"

#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace {

bool hide(std::string_view layer) {
  if (layer == "namespaces") return repobridge::tests::hide_namespaces();
  if (layer == "landlock") return repobridge::tests::hide_landlock();
  return layer == "seccomp" && repobridge::tests::hide_seccomp();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3 || !hide(arguments[1])) return 2;
  execv(arguments[2], arguments + 2);
  std::perror("execv");
  return 2;
}
