// Says of each file named what our reader of git configuration makes of it, a JSON value a line: [[key,
// value|null], …], in order, or the code of the refusal.
#include <iostream>

#include "bridge/git/local_config.h"
#include "platform/files.h"
#include "policy/json.h"

namespace {

using repobridge::policy::Json;

Json shown(const std::string& path) {
  const auto text = repobridge::platform::read_if_present(path, 1U << 20U);
  if (!text || !*text) return "cannot be read";
  const auto config = repobridge::git::LocalConfig::parse(**text);
  if (!config) return config.error().code;
  Json entries = Json::array();
  for (const auto& entry : config->entries()) {
    entries.push_back({entry.key, entry.value ? Json(*entry.value) : Json()});
  }
  return entries;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::cout << shown(argv[i]).dump() << "\n";
  return 0;
}
