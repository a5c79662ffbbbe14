#include "bridge/git/reference.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

using OwnedReferenceIterator = Owned<git_reference_iterator, git_reference_iterator_free>;
using platform::OpenAs;

// As umask says, like every file that git makes.
constexpr mode_t kDirectoryMode = 0777;
constexpr mode_t kLogMode = 0666;

// Whether git begins a log where there is none.
Result<bool> begins_log(const Repository& repository, const std::string& log_of) {
  OwnedConfig config;
  RB_CHECK(
      git_check(git_repository_config_snapshot(into(config), repository.get()), "read the configuration"));
  const char* setting = nullptr;
  const int code = git_config_get_string(&setting, config.get(), "core.logallrefupdates");
  if (code < 0 && code != GIT_ENOTFOUND) return git_failure(code, "read the configuration");
  const std::string value = setting != nullptr ? policy::lower_ascii(setting) : "true";
  git_error_clear();
  if (value == "always") return true;
  int on = 0;
  if (git_config_parse_bool(&on, value.c_str()) < 0) {
    git_error_clear();
    return false;
  }
  return on != 0 &&
         (log_of == "HEAD" || log_of.starts_with("refs/heads/") || log_of.starts_with("refs/remotes/"));
}

// The log, open at its end; nothing when there is none and none is begun.
Result<platform::UniqueFd> open_log(const Repository& repository, const std::string& log_of) {
  RB_TRY(const bool begin, begins_log(repository, log_of));
  auto parts = policy::split("logs/" + log_of, '/');
  const std::string name = parts.back();
  parts.pop_back();
  RB_TRY(auto at, platform::open_beneath(repository.git_directory(), ".", OpenAs::directory));
  for (const auto& part : parts) {
    if (begin && ::mkdirat(at.get(), part.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return os_failure("make a directory for a log", errno);
    }
    auto next = platform::open_beneath(at.get(), part, OpenAs::directory);
    if (!next && !begin && platform::is_absent(next.error())) return platform::UniqueFd();
    if (!next) return fail(std::move(next).error());
    at = *std::move(next);
  }
  const int create = begin ? O_CREAT : 0;
  platform::UniqueFd log(::openat(
      at.get(), name.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | create, kLogMode));
  if (log.valid() || (!begin && errno == ENOENT)) return log;
  return os_failure("open a log of references", errno);
}

std::string hex_or_zeros(const std::optional<git_oid>& oid) {
  return oid ? hex_of(*oid) : std::string(GIT_OID_HEXSZ, '0');
}

std::string line_of(const Move& move, const git_signature& who, std::string_view message) {
  const int minutes = std::abs(who.when.offset);
  std::array<char, 64> when{};
  (void)std::snprintf(when.data(), when.size(), "%lld %c%02d%02d", static_cast<long long>(who.when.time),
                      who.when.offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
  std::string subject(message);
  std::ranges::replace(subject, '\n', ' ');
  return hex_or_zeros(move.from) + " " + hex_of(move.to) + " " + who.name + " <" + who.email + "> " +
         when.data() + "\t" + subject + "\n";
}

bool collide(std::string_view one, std::string_view other) {
  const auto [shorter, longer] = std::minmax(one, other, [](auto a, auto b) { return a.size() < b.size(); });
  return longer.size() > shorter.size() && longer.starts_with(shorter) && longer[shorter.size()] == '/';
}

}  // namespace

Result<void> check_name_free(const Repository& repository, const std::string& reference) {
  OwnedReferenceIterator names;
  RB_CHECK(git_check(git_reference_iterator_new(into(names), repository.get()), "list the references"));
  const char* name = nullptr;
  int code = 0;
  while ((code = git_reference_next_name(&name, names.get())) == 0) {
    if (!collide(name, reference)) continue;
    return policy::refuse(policy::codes::kUnsupportedLayout,
                          "another reference's name begins with the branch's, or the other way round, so git "
                          "cannot hold both; rename one of them");
  }
  if (code != GIT_ITEROVER) return git_failure(code, "list the references");
  git_error_clear();
  return {};
}

Result<void> log_move(const Repository& repository, const std::string& log_of, const Move& move,
                      const git_signature& who, std::string_view message) {
  RB_TRY(const auto log, open_log(repository, log_of));
  if (!log.valid()) return {};
  return platform::write_all(log.get(), line_of(move, who, message));
}

}  // namespace repobridge::git
