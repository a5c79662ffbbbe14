#include "bridge/actions/room.h"

#include <algorithm>
#include <cstdlib>

#include "platform/user.h"

namespace repobridge::actions {
namespace {

using Paths = std::vector<std::string>;

constexpr std::size_t kMostFrozenBytes = std::size_t{512} << 10U;

// "" when it is not set, or not absolute.
std::string directory_named(const char* variable) {
  // The bridge sets no environment variable after its start, so reading them races with nobody.
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value == '/' ? value : "";
}

// The first is the one that the program is told of.
Paths all_homes() {
  Paths found;
  const auto user = platform::current_user();
  for (const auto& home : {directory_named("HOME"), user ? user->home : std::string()}) {
    if (home.starts_with('/') && std::ranges::find(found, home) == found.end()) found.push_back(home);
  }
  return found;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// A directory that holds a home, or stands at the top like /etc, is not the bridge's own.
void add_directory_of(Paths& hidden, const std::string& file, const Paths& homes) {
  const auto directory = parent_of(file);
  const bool holds_home = std::ranges::any_of(
      homes, [&](const auto& home) { return home == directory || home.starts_with(directory + "/"); });
  if (directory.find('/', 1) != std::string::npos && !holds_home) hidden.push_back(directory);
}

void add_own(Paths& hidden, const bridge::Parts& parts, const Paths& homes) {
  const auto& policy = parts.policy;
  hidden.insert(hidden.end(), {policy.state_dir, policy.lock_dir});
  Paths files{parts.config, policy.socket_path};
  for (const auto& front : policy.fronts) {
    files.push_back(front.key_file);
    hidden.insert(hidden.end(), front.secret_files.begin(), front.secret_files.end());
  }
  for (const auto& file : files) {
    hidden.push_back(file);
    add_directory_of(hidden, file, homes);
  }
}

// The same place below a directory that the environment names for it.
void add_moved(Paths& hidden, std::string_view place, std::string_view usual, const std::string& named) {
  if (!named.empty() && place.starts_with(usual)) {
    hidden.push_back(named + "/" + std::string(place.substr(usual.size())));
  }
}

void add_credentials(Paths& hidden, const Paths& homes) {
  const auto config = directory_named("XDG_CONFIG_HOME");
  const auto data = directory_named("XDG_DATA_HOME");
  for (const auto place : policy::credential_places()) {
    for (const auto& home : homes) hidden.push_back(home + "/" + std::string(place));
    add_moved(hidden, place, ".config/", config);
    add_moved(hidden, place, ".local/share/", data);
  }
  for (const auto place : policy::system_secrets()) hidden.emplace_back(place);
}

void append(std::vector<std::string>& argv, const char* option, const Paths& values) {
  for (const auto& value : values) argv.insert(argv.end(), {option, value});
}

const char* option_for(policy::PinKind kind) {
  switch (kind) {
    case policy::PinKind::file:
      return "--freeze-file";
    case policy::PinKind::directory:
      return "--freeze-directory";
    case policy::PinKind::absent:
      return "--freeze-absent";
  }
  std::abort();
}

// None, if they are more than a program can be started with.
Paths frozen_pins(const policy::Pins& pins) {
  Paths words;
  std::size_t bytes = 0;
  for (const auto& [path, pin] : pins) {
    words.insert(words.end(), {option_for(pin.kind), path.bytes()});
    bytes += path.bytes().size();
  }
  return bytes <= kMostFrozenBytes ? words : Paths();
}

}  // namespace

std::vector<std::string> room_argv(const bridge::Parts& parts, const policy::Workdir& workdir,
                                   const policy::Action& action, const Traces& verified) {
  const auto& isolation = action.isolation;
  std::vector<std::string> argv{parts.programs.room, "--workdir", workdir.path};
  if (action.mutates) argv.emplace_back("--writable");
  if (isolation.network) argv.emplace_back("--network");
  if (!isolation.private_home) argv.emplace_back("--user-home");
  if (!isolation.required) argv.emplace_back("--best-effort");
  const auto homes = all_homes();
  Paths hidden;
  add_own(hidden, parts, homes);
  add_credentials(hidden, homes);
  append(argv, "--home", homes);
  append(argv, "--home-read", isolation.home_read);
  append(argv, "--hide", hidden);
  if (action.mutates) return argv;
  const auto frozen = frozen_pins(action.integrity);
  argv.insert(argv.end(), {"--freeze-bytes", std::to_string(bytes_of_copies(verified))});
  argv.insert(argv.end(), frozen.begin(), frozen.end());
  return argv;
}

}  // namespace repobridge::actions
