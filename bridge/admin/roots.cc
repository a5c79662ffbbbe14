#include "bridge/admin/roots.h"

#include <algorithm>
#include <cstdlib>

#include "policy/text.h"

namespace repobridge::admin {
namespace {

bool is_within(const std::string& path, const std::string& root) {
  return path == root || root == "/" || (path.starts_with(root) && path[root.size()] == '/');
}

// Of the path and all above it, as far as they exist.
Result<std::vector<platform::FileIdentity>> identities_up(std::string path) {
  std::vector<platform::FileIdentity> identities;
  for (;;) {
    RB_TRY(const auto facts, platform::facts_of_path(path));
    if (facts) identities.push_back(facts->identity);
    if (path == "/") return identities;
    path.resize(path.rfind('/'));
    if (path.empty()) path = "/";
  }
}

}  // namespace

Result<Root> root_of(const policy::WorkdirSettings& workdir) {
  const std::string variable = workdir.slot + "PATH";
  auto path = platform::canonical_path(workdir.path);
  if (!path) return policy::refuse_variable(variable, "cannot be used: " + path.error().message);
  if (!policy::is_utf8(*path)) {
    return policy::refuse_variable(variable, "leads to a path that is not UTF-8, which JSON cannot hold");
  }
  const auto facts = platform::facts_of_path(*path);
  if (!facts) return policy::refuse_variable(variable, "cannot be used: " + facts.error().message);
  if (!*facts || !(*facts)->is_directory()) return policy::refuse_variable(variable, "is not a directory");
  return Root{.slot = workdir.slot, .path = *std::move(path), .identity = (*facts)->identity};
}

Result<Roots> Roots::of(const std::vector<policy::WorkdirSettings>& workdirs) {
  Roots roots;
  for (const auto& workdir : workdirs) {
    RB_TRY(auto root, root_of(workdir));
    roots.roots_.push_back(std::move(root));
  }
  for (const auto& root : roots.roots_) {
    Roots others = roots;
    std::erase_if(others.roots_, [&](const Root& other) { return other.slot == root.slot; });
    RB_TRY(const Root* outer, others.holding(root.path));
    if (outer == nullptr) continue;
    return policy::refuse_variable(root.slot + "PATH", "is, or lies inside, the workdir of " + outer->slot +
                                                           "PATH; one file must belong to one workdir");
  }
  return roots;
}

const Root& Roots::of_slot(const std::string& slot) const {
  const auto found = std::ranges::find(roots_, slot, &Root::slot);
  if (found == roots_.end()) std::abort();
  return *found;
}

Result<const Root*> Roots::holding(const std::string& path) const {
  RB_TRY(const auto identities, identities_up(path));
  const auto found = std::ranges::find_if(roots_, [&](const Root& root) {
    return is_within(path, root.path) || std::ranges::find(identities, root.identity) != identities.end();
  });
  return found == roots_.end() ? nullptr : &*found;
}

}  // namespace repobridge::admin
