#include "bridge/git/grounds.h"

#include <fcntl.h>

#include <algorithm>

#include "platform/unique_fd.h"

namespace repobridge::git {
namespace {

std::optional<platform::FileFacts> look(const std::string& path) {
  const platform::UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  const auto facts = platform::facts_of(fd.get());
  return facts ? std::optional(*facts) : std::nullopt;
}

std::optional<platform::FileIdentity> identity_of(const std::optional<platform::FileFacts>& facts) {
  return facts ? std::optional(facts->identity) : std::nullopt;
}

}  // namespace

Grounds::Grounds(const std::string& root, const UserConfig& user) {
  for (const char* name : {"", "/.git"}) directories_.push_back({.path = root + name, .facts = {}});
  for (const char* name : {"/.git/HEAD", "/.git/config"})
    files_.push_back({.path = root + name, .facts = {}});
  for (auto& path : user.sources()) files_.push_back({.path = std::move(path), .facts = {}});
  for (auto* list : {&directories_, &files_}) {
    for (auto& file : *list) file.facts = look(file.path);
  }
}

bool Grounds::changed() const {
  return std::ranges::any_of(directories_,
                             [](const File& directory) {
                               return identity_of(look(directory.path)) != identity_of(directory.facts);
                             }) ||
         std::ranges::any_of(files_, [](const File& file) { return look(file.path) != file.facts; });
}

}  // namespace repobridge::git
