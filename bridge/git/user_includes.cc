#include "bridge/git/user_includes.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "bridge/git/wildmatch.h"
#include "platform/files.h"
#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

using policy::LetterCase;

constexpr std::size_t kMaxConfigBytes = 1U << 20U;
constexpr int kDeepestInclude = 10;

std::string environment_variable(const char* name) {
  // Nothing sets an environment variable after a program's start, so reading them races with nobody.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// The part between a prefix and a suffix; nullopt when the text has not both.
std::optional<std::string_view> between(std::string_view text, std::string_view begin, std::string_view end) {
  if (text.size() < begin.size() + end.size() || !text.starts_with(begin) || !text.ends_with(end)) {
    return std::nullopt;
  }
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

std::optional<std::string_view> after(std::string_view text, std::string_view begin) {
  return between(text, begin, "");
}

Failure not_understood() {
  return policy::refuse(policy::codes::kUserConfigInvalid,
                        "an include of the user's git configuration begins with ~name or %(prefix), which is "
                        "not understood here; write ~/ or an absolute path");
}

Result<std::string> with_home(std::string_view path, const std::string& home) {
  if (path == "~" || path.starts_with("~/")) return home + std::string(path.substr(1));
  if (path.starts_with('~') || path.starts_with("%(prefix)/")) return not_understood();
  return std::string(path);
}

void match_everything_below(std::string& pattern) {
  if (pattern.ends_with('/')) pattern += "**";
}

// A configuration file, and what a condition or an include in it is relative to.
class Including {
 public:
  Including(std::string path, const std::string& home) : path_(std::move(path)), home_(&home) {}

  [[nodiscard]] Result<std::string> resolve(const std::string& named) const {
    RB_TRY(auto path, with_home(named, *home_));
    return path.starts_with('/') ? path : directory_of(path_) + path;
  }

  [[nodiscard]] Result<bool> holds(std::string_view condition, const Situation& here) const {
    if (const auto pattern = after(condition, "gitdir:")) {
      return directory_matches(*pattern, here.git_directory, LetterCase::exact);
    }
    if (const auto pattern = after(condition, "gitdir/i:")) {
      return directory_matches(*pattern, here.git_directory, LetterCase::alike);
    }
    if (const auto pattern = after(condition, "onbranch:")) return branch_matches(*pattern, here.branch);
    if (const auto pattern = after(condition, "hasconfig:remote.*.url:")) {
      return std::ranges::any_of(here.remote_urls,
                                 [&](const std::string& url) { return wildmatch(*pattern, url); });
    }
    return false;
  }

 private:
  static bool branch_matches(std::string_view condition, const std::string& branch) {
    std::string pattern(condition);
    match_everything_below(pattern);
    return !branch.empty() && wildmatch(pattern, branch);
  }

  [[nodiscard]] Result<bool> directory_matches(std::string_view condition, const std::string& directory,
                                               LetterCase letters) const {
    std::string literal;  // of the pattern's beginning, in which nothing is special
    std::string pattern(condition);
    if (pattern.starts_with("./")) {
      RB_TRY(const auto real, platform::canonical_path(path_));
      literal = directory_of(real);
      pattern.erase(0, 2);
      if (pattern.empty()) pattern = "**";
    } else if (pattern.starts_with('~') || pattern.starts_with('%')) {
      RB_TRY(const auto home, platform::canonical_path(*home_));
      RB_TRY(pattern, with_home(condition, home));
    }
    if (literal.empty() && !pattern.starts_with('/')) pattern.insert(0, "**/");
    match_everything_below(pattern);
    return begins_with(directory, literal, letters) &&
           wildmatch(pattern, std::string_view(directory).substr(literal.size()), letters);
  }

  static bool begins_with(std::string_view text, std::string_view prefix, LetterCase letters) {
    if (letters == LetterCase::exact) return text.starts_with(prefix);
    return policy::lower_ascii(text).starts_with(policy::lower_ascii(prefix));
  }

  std::string path_;
  const std::string* home_;
};

class Reader {
 public:
  Reader(const UserConfigPlaces& places, const Situation& here, const Situation* there)
      : places_(&places), here_(&here), there_(there) {}

  Result<void> read() {
    for (const auto& file : places_->files) RB_CHECK(read_file(file, 0));
    return {};
  }

  std::vector<ConfigEntry> entries;
  std::vector<std::string> only_here;
  std::vector<std::string> files;

 private:
  Result<void> read_file(const std::string& path, int depth) {
    if (depth > kDeepestInclude) return user_config_invalid();
    files.push_back(path);
    const auto text = platform::read_if_present(path, kMaxConfigBytes);
    if (!text) return user_config_invalid();
    auto parsed = LocalConfig::parse(text->value_or(""));
    if (!parsed) return user_config_invalid();
    const Including file(path, places_->home);
    for (const auto& entry : parsed->entries()) RB_CHECK(take(entry, file, depth));
    return {};
  }

  Result<void> take(const ConfigEntry& entry, const Including& file, int depth) {
    const auto condition = between(entry.key, "includeif.", ".path");
    if (!condition && entry.key != "include.path") {
      if (!entry.key.starts_with("includeif.")) entries.push_back(entry);
      return {};
    }
    if (condition) {
      RB_TRY(const bool included, file.holds(*condition, *here_));
      if (!included) return {};
    }
    if (!entry.value) return user_config_invalid();
    RB_TRY(const auto path, file.resolve(*entry.value));
    if (condition && there_ != nullptr) {
      RB_TRY(const bool there_too, file.holds(*condition, *there_));
      if (!there_too) only_here.push_back(path);
    }
    return read_file(path, depth + 1);
  }

  const UserConfigPlaces* places_;
  const Situation* here_;
  const Situation* there_;
};

// The URLs of remotes that this configuration itself has; they count for conditions too.
Result<std::vector<std::string>> remote_urls_in(const UserConfigPlaces& places, const Situation& here) {
  Reader reader(places, here, nullptr);
  RB_CHECK(reader.read());
  std::vector<std::string> urls;
  for (const auto& entry : reader.entries) {
    if (between(entry.key, "remote.", ".url") && entry.value) urls.push_back(*entry.value);
  }
  return urls;
}

Result<Situation> with_user_remotes(const UserConfigPlaces& places, Situation situation) {
  RB_TRY(const auto urls, remote_urls_in(places, situation));
  situation.remote_urls.insert(situation.remote_urls.end(), urls.begin(), urls.end());
  return situation;
}

}  // namespace

UserConfigPlaces UserConfigPlaces::of_environment() {
  UserConfigPlaces places{.home = environment_variable("HOME"), .files = {"/etc/gitconfig"}};
  const auto xdg = environment_variable("XDG_CONFIG_HOME");
  if (!xdg.empty()) places.files.push_back(xdg + "/git/config");
  if (!places.home.empty()) {
    if (xdg.empty()) places.files.push_back(places.home + "/.config/git/config");
    places.files.push_back(places.home + "/.gitconfig");
  }
  return places;
}

Result<UserEntries> read_user_entries(const UserConfigPlaces& places, const Situation& here) {
  RB_TRY(const auto situation, with_user_remotes(places, here));
  Reader reader(places, situation, nullptr);
  RB_CHECK(reader.read());
  return UserEntries{.entries = std::move(reader.entries), .files = std::move(reader.files)};
}

Result<std::vector<std::string>> includes_only_here(const UserConfigPlaces& places, const Situation& here,
                                                    const Situation& there) {
  RB_TRY(const auto situation, with_user_remotes(places, here));
  RB_TRY(const auto other, with_user_remotes(places, there));
  Reader reader(places, situation, &other);
  RB_CHECK(reader.read());
  return std::move(reader.only_here);
}

Failure user_config_invalid() {
  return policy::refuse(
      policy::codes::kUserConfigInvalid,
      "the git configuration of the bridge's user cannot be read; `git config --list` as that user says "
      "where it breaks");
}

}  // namespace repobridge::git
