// The administrator's env file and the settings in it: parse, print, parse is stable, and every refusal names
// the line or the variable.
#include "policy/env_file.h"

#include "policy/codes.h"
#include "policy/settings.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

std::string printed(const policy::EnvFile& file) {
  std::string text;
  for (const auto& [name, value] : file) {
    text += name + "=";
    if (value.text.find('\'') == std::string::npos) {
      text += "'" + value.text + "'";
    } else {
      text += '"';
      for (const char c : value.text) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      }
      text += '"';
    }
    text += "\n";
  }
  return text;
}

bool same_values(const policy::EnvFile& one, const policy::EnvFile& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.text == b.second.text;
  });
}

void check_settings(const policy::EnvFile& file) {
  const auto settings = policy::read_settings(file);
  if (settings) {
    for (const auto& workdir : settings->workdirs) {
      must(policy::is_alias(workdir.alias) && workdir.path.starts_with('/'), "a workdir is whole");
      must(workdir.read_only || file.contains(workdir.slot + "READ_ONLY"), "nothing is writable by default");
    }
    return;
  }
  must(settings.error().code == policy::codes::kConfigInvalidSetting.name, "a refusal is CONFIG_INVALID");
  must(settings.error().details != nullptr, "a refusal of a setting has details");
  const auto variable = settings.error().details->value("variable", "");
  must(!variable.empty() && settings.error().message.starts_with(variable + " "),
       "a refusal of a setting names the variable");
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto file = policy::parse_env_file(bytes);
  if (!file) {
    const auto& message = file.error().message;
    must(message.starts_with("line ") || bytes.size() > policy::kMaxEnvFileBytes, "a refusal names the line");
    return;
  }
  const auto again = policy::parse_env_file(printed(*file));
  must(again && same_values(*file, *again), "parse, print, parse is stable");
  check_settings(*file);
}

}  // namespace repobridge::fuzz
