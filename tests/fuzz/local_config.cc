// A repository's configuration: parse, print, parse is stable.
#include "bridge/git/local_config.h"

#include <algorithm>
#include <cctype>

#include "policy/codes.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

using git::ConfigEntry;
using git::LocalConfig;

// The header that gives a key its section: [plain.name] or [name "subsection"].
std::string header_of(std::string_view section) {
  const bool plain = std::ranges::all_of(section, [](unsigned char c) {
    return std::isdigit(c) != 0 || std::islower(c) != 0 || c == '-' || c == '.';
  });
  if (plain) return "[" + std::string(section) + "]\n";
  const auto dot = section.find('.');
  std::string header = "[" + std::string(section.substr(0, dot)) + " \"";
  for (const char c : section.substr(dot + 1)) {
    if (c == '"' || c == '\\') header += '\\';
    header += c;
  }
  return header + "\"]\n";
}

std::string printed(const std::vector<ConfigEntry>& entries) {
  std::string text;
  for (const auto& entry : entries) {
    const auto dot = entry.key.rfind('.');
    text += header_of(std::string_view(entry.key).substr(0, dot)) + "\t" + entry.key.substr(dot + 1);
    if (entry.value) text += " = " + git::quoted_config_value(*entry.value);
    text += "\n";
  }
  return text;
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto config = LocalConfig::parse(bytes);
  if (!config) {
    must(config.error().code == policy::codes::kConfigInvalid.name, "a refusal is REPO_CONFIG_INVALID");
    return;
  }
  const auto again = LocalConfig::parse(printed(config->entries()));
  must(again && std::ranges::equal(config->entries(), again->entries(),
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
