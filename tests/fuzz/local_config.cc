// A repository's configuration: parse, print, parse is stable.
#include "bridge/git/local_config.h"

#include <algorithm>

#include "policy/codes.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

using git::ConfigEntry;
using git::LocalConfig;

std::string printed(const std::vector<ConfigEntry>& entries) {
  std::string text;
  for (const auto& entry : entries) text += git::config_text(entry);
  return text;
}

// Git reads [.a], but nobody means it, and no section with a subsection has such a name.
std::vector<ConfigEntry> with_section(std::vector<ConfigEntry> entries) {
  std::erase_if(entries, [](const ConfigEntry& entry) { return entry.key.starts_with('.'); });
  return entries;
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto config = LocalConfig::parse(bytes);
  if (!config) {
    must(config.error().code == policy::codes::kConfigInvalid.name, "a refusal is REPO_CONFIG_INVALID");
    return;
  }
  const auto entries = with_section(config->entries());
  const auto again = LocalConfig::parse(printed(entries));
  must(again && std::ranges::equal(entries, again->entries(),
                                   [](const ConfigEntry& a, const ConfigEntry& b) {
                                     return a.key == b.key && a.value == b.value;
                                   }),
       "parse, print, parse is stable");
  for (const auto& entry : config->entries()) {
    must(config->has(entry.key) && config->last(entry.key), "an entry is found by its key");
    must(!config->is_true(entry.key) || config->last(entry.key) != "false", "false is not true");
  }
}

}  // namespace repobridge::fuzz
