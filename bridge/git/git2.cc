#include "bridge/git/git2.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "bridge/git/loose_objects.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

// libgit2's words go to the log, which may hold no host path.
std::string without_paths(std::string_view text) {
  constexpr std::string_view kEnds = " '\"():";
  std::string out;
  while (!text.empty()) {
    const bool begins_word = out.empty() || kEnds.find(out.back()) != std::string_view::npos;
    if (text.front() == '/' && begins_word) {
      out += "(path)";
      text.remove_prefix(std::min(text.find_first_of(kEnds), text.size()));
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

Failure git_failure(int code, std::string_view doing) {
  const git_error* last = git_error_last();
  const auto text = without_paths(last != nullptr && last->message != nullptr ? last->message : "no text");
  (void)std::fprintf(stderr, "repobridge-git: %.*s: %s (%d)\n", static_cast<int>(doing.size()), doing.data(),
                     text.c_str(), code);
  const std::string phrase(doing);
  if (code == GIT_ENOTFOUND && last != nullptr && last->klass == GIT_ERROR_ODB) {
    return policy::refuse(
        policy::codes::kObjectMissing,
        "an object of the repository is missing (a partial clone, or damage); fetch it with git, "
        "then call again");
  }
  const bool damaged = code == GIT_EMISMATCH || last_error_says(kDamagedObject) ||
                       (last != nullptr && last->klass == GIT_ERROR_ZLIB);
  if (damaged) {
    return policy::refuse(policy::codes::kObjectDamaged,
                          "an object of the repository is damaged; `git fsck` in the workdir says which");
  }
  if (code == GIT_ELOCKED) {
    return policy::refuse(policy::codes::kRefLocked,
                          "git holds a lock on a reference; call again when that git command has ended");
  }
  return policy::refuse(policy::codes::kGitFailed,
                        "git could not " + phrase + "; `git fsck` in the workdir may say why");
}

bool last_error_says(std::string_view words) {
  const git_error* last = git_error_last();
  return last != nullptr && last->message != nullptr &&
         std::string_view(last->message).find(words) != std::string_view::npos;
}

std::string hex_of(const git_oid& oid) {
  std::array<char, GIT_OID_HEXSZ + 1> hex{};
  git_oid_tostr(hex.data(), hex.size(), &oid);
  return hex.data();
}

Result<git_oid> oid_from(std::string_view hex) {
  git_oid oid{};
  if (hex.size() != GIT_OID_HEXSZ || git_oid_fromstrn(&oid, hex.data(), hex.size()) != 0) {
    return policy::refuse(policy::codes::kInternalError, "an object id is malformed");
  }
  return oid;
}

}  // namespace repobridge::git
