#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "platform/control_group.h"
#include "platform/fence.h"
#include "platform/files.h"

namespace repobridge::platform {
namespace {

constexpr std::uint64_t kChanges =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | landlock::kTruncate;

// Contents only: what names a directory holds is for the mounts of a room to hide, since the right to list
// one would have to be given for each directory on the way, and with it for everything below.
constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE;

// Grants everything but the places that are left out. Landlock only knows granting, and what is granted for a
// directory holds below it, so on the way to such a place each neighbour is granted by itself.
class Around {
 public:
  Around(const landlock::Ruleset& rules, std::uint64_t rights, std::vector<std::string> left_out)
      : rules_(&rules), rights_(rights), left_out_(std::move(left_out)) {}

  [[nodiscard]] Result<void> grant(const std::string& path) const {
    if (is_left_out(path)) return {};
    if (leads_to_one(path)) return grant_entries(path);
    const UniqueFd place(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place.valid()) return {};  // gone meanwhile
    RB_TRY(const auto facts, facts_of(place.get()));
    return facts.is_link() ? Result<void>() : rules_->grant(place.get(), rights_);
  }

 private:
  [[nodiscard]] bool is_left_out(const std::string& path) const {
    return std::ranges::find(left_out_, path) != left_out_.end();
  }

  [[nodiscard]] bool leads_to_one(const std::string& path) const {
    const std::string above = as_prefix(path);
    return std::ranges::any_of(left_out_, [&](const auto& place) { return place.starts_with(above); });
  }

  [[nodiscard]] Result<void> grant_entries(const std::string& path) const {
    RB_TRY(const auto names, names_in(path));
    for (const auto& name : names) RB_CHECK(grant(as_prefix(path) + name));
    return {};
  }

  // A directory that may be passed and not be listed, as /home on some machines, has at least what leads on.
  [[nodiscard]] Result<std::vector<std::string>> names_in(const std::string& path) const {
    const auto directory = open_directory(path);
    if (directory) return list_directory(directory->get());
    if (directory.error().os_code != EACCES) return fail(directory.error());
    const std::string above = as_prefix(path);
    std::vector<std::string> names;
    for (const auto& place : left_out_) {
      if (place.starts_with(above))
        names.push_back(place.substr(above.size(), place.find('/', above.size()) - above.size()));
    }
    return names;
  }

  static std::string as_prefix(const std::string& path) { return path == "/" ? path : path + "/"; }

  const landlock::Ruleset* rules_;
  std::uint64_t rights_;
  std::vector<std::string> left_out_;
};

}  // namespace

Fence Fence::build() {
  auto fence = build(landlock::version());
  return fence ? *std::move(fence) : Fence();
}

Result<Fence> Fence::build(int version) {
  Fence fence;
  if (version < landlock::kVersionOfRefer) return fence;
  RB_TRY(auto rules,
         landlock::Ruleset::make(version, {.files = kChanges, .scopes = landlock::kScopeSignals}));
  RB_TRY(auto left_out, control_group_mounts());
  left_out.emplace_back("/sys");
  RB_CHECK(Around(rules, kChanges, std::move(left_out)).grant("/"));
  fence.version_ = version;
  fence.rules_ = std::move(rules);
  return fence;
}

Result<Fence> Fence::around(const FencedPlaces& places) {
  Fence fence;
  const int version = landlock::version();
  if (version < landlock::kVersionOfRefer) return fence;
  RB_TRY(auto rules, landlock::Ruleset::make(
                         version, {.files = kChanges | kReading,
                                   .scopes = landlock::kScopeSignals | landlock::kScopeAbstractSockets}));
  const Around reading(rules, kReading, places.unreadable);
  RB_CHECK(reading.grant("/"));
  for (const auto& path : places.readable) RB_CHECK(reading.grant(path));
  const Around writing(rules, kReading | kChanges, places.unreadable);
  for (const auto& path : places.writable) RB_CHECK(writing.grant(path));
  fence.version_ = version;
  fence.rules_ = std::move(rules);
  return fence;
}

void Fence::held_by(Containment& held) const {
  held.landlock_version = version_;
  held.signal_scope = version_ >= landlock::kVersionOfScopes;
}

bool Fence::enter() const { return !rules_ || landlock::restrict_self(rules_->descriptor()); }

}  // namespace repobridge::platform
