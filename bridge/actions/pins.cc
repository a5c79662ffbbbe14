#include "bridge/actions/pins.h"

#include "platform/digest.h"
#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::actions {
namespace {

struct Hashed {
  platform::FileFacts facts;
  std::string digest;
};

Result<Hashed> hash(int root, const policy::RepoPath& path) {
  RB_TRY(const auto file, platform::open_beneath(root, path.bytes(), platform::OpenAs::readable));
  Hashed hashed;
  RB_TRY(hashed.facts, platform::facts_of(file.get()));
  if (!hashed.facts.is_regular()) return os_failure("pin something that is no regular file", 0);
  RB_TRY(hashed.digest, platform::sha256_of(file.get(), kMaxPinnedBytes));
  return hashed;
}

}  // namespace

Result<PinsSeen> verify_pins(int root, const std::map<policy::RepoPath, std::string>& pins) {
  PinsSeen seen;
  policy::Json drifted = policy::Json::array();
  for (const auto& [path, digest] : pins) {
    const auto hashed = hash(root, path);
    if (hashed && hashed->digest == digest) {
      seen.emplace(path, hashed->facts);
    } else {
      drifted.push_back(path.text());
    }
  }
  if (drifted.empty()) return seen;
  return policy::refuse(
      policy::codes::kPinMismatch,
      "files that the action reads (details.paths) are not the bytes the administrator reviewed; "
      "nothing was started. The administrator reviews them and updates the pins",
      policy::Json{{"paths", std::move(drifted)}});
}

}  // namespace repobridge::actions
