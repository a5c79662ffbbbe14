#include "bridge/admin/pins.h"

#include <cerrno>

#include "platform/digest.h"
#include "platform/files.h"
#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::admin {
namespace {

using policy::RepoPath;

Failure refuse_pin(const policy::Code& code, std::string problem, const RepoPath& path) {
  return policy::refuse(code, std::move(problem), policy::Json{{"path", path.text()}});
}

Failure unopened(const Error& error, const RepoPath& path) {
  if (platform::is_absent(error)) {
    return refuse_pin(policy::codes::kPathNotFound, "a pinned file is missing", path);
  }
  if (error.os_code == ELOOP || error.os_code == EXDEV) {
    return refuse_pin(policy::codes::kPathBeyondLink, "a pinned file is a link or lies behind one", path);
  }
  return refuse_pin(policy::codes::kPathUnsupportedType, "a pinned file cannot be read", path);
}

Result<std::string> digest_of(int root, const RepoPath& path) {
  const auto fd = platform::open_beneath(root, path.bytes(), platform::OpenAs::readable);
  if (!fd) return unopened(fd.error(), path);
  RB_TRY(const auto facts, platform::facts_of(fd->get()));
  if (!facts.is_regular()) {
    return refuse_pin(policy::codes::kPathUnsupportedType, "only a regular file can be pinned", path);
  }
  const auto too_large = [&] {
    return refuse_pin(policy::codes::kPathTooLarge, "a pinned file has more than 2 GiB", path);
  };
  if (facts.size_bytes > kMaxPinnedFileBytes) return too_large();
  auto digest = platform::sha256_of(fd->get(), kMaxPinnedFileBytes);
  if (!digest && digest.error().code == "FILE_TOO_LARGE") return too_large();  // it grew meanwhile
  return digest;
}

}  // namespace

Result<Pins> digests_now(int root, const Pins& pinned) {
  Pins now;
  for (const auto& [path, unused] : pinned) {
    RB_TRY(auto digest, digest_of(root, path));
    now.emplace(path, std::move(digest));
  }
  return now;
}

}  // namespace repobridge::admin
