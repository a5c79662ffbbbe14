#include <fcntl.h>

#include <algorithm>
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

// Grants everything but the places that are left out. Landlock only knows granting, and what is granted for a
// directory holds below it, so on the way to such a place each neighbour is granted by itself.
class Around {
 public:
  Around(const landlock::Ruleset& rules, std::vector<std::string> left_out)
      : rules_(&rules), left_out_(std::move(left_out)) {}

  [[nodiscard]] Result<void> grant(const std::string& path) const {
    if (is_left_out(path)) return {};
    if (leads_to_one(path)) return grant_entries(path);
    const UniqueFd place(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place.valid()) return {};  // gone meanwhile
    RB_TRY(const auto facts, facts_of(place.get()));
    return facts.is_link() ? Result<void>() : rules_->grant(place.get(), kChanges);
  }

 private:
  [[nodiscard]] bool is_left_out(const std::string& path) const {
    return std::ranges::find(left_out_, path) != left_out_.end();
  }

  [[nodiscard]] bool leads_to_one(const std::string& path) const {
    const std::string above = path == "/" ? path : path + "/";
    return std::ranges::any_of(left_out_, [&](const auto& place) { return place.starts_with(above); });
  }

  [[nodiscard]] Result<void> grant_entries(const std::string& path) const {
    RB_TRY(const auto directory, open_directory(path));
    RB_TRY(const auto names, list_directory(directory.get()));
    for (const auto& name : names) RB_CHECK(grant(path == "/" ? path + name : path + "/" + name));
    return {};
  }

  const landlock::Ruleset* rules_;
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
  RB_CHECK(Around(rules, std::move(left_out)).grant("/"));
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
