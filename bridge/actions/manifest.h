// The manifest of a directory: one text that says everything that is in it, so that one digest pins it whole.
//
//   repobridge manifest 1
//   dir "sub"
//   file - 12 <SHA-256 of its bytes> "sub/data.txt"
//   file x 340 <SHA-256> "sub/run"
//   link "data.txt" "sub/name"
//
// A line each, every one ended by a newline. Names are relative to the directory and in git's C-quoted form,
// bytes above 127 escaped. The entries of a directory are sorted by their names' bytes, and a directory's own
// line is followed by what is in it. `x` is a file that its owner may execute; a link is its target and no
// more. The first line changes when the form does.
//
// Promise: everything is opened beneath the directory's descriptor, and no link is followed. What a manifest
// cannot hold is refused and named: a FIFO, a socket, a device, and git's own data. At most 64 levels, 100000
// entries, kMaxPinnedBytes in all files together. Errors: REPO_PATH_UNSUPPORTED_TYPE, REPO_PATH_TOO_LARGE,
// REPO_PATH_CHANGED, DENIED_PATH, each with details.path. Threads: any; blocks while it reads.
#pragma once

#include <cstddef>
#include <string>

#include "bridge/actions/trace.h"
#include "platform/result.h"
#include "policy/repo_path.h"

namespace repobridge::actions {

inline constexpr std::size_t kMaxPinnedBytes = std::size_t{2} << 30U;

// The digest of the manifest of `directory`, which stands at `path`. `trace` takes note of every entry.
Result<std::string> manifest_digest(int directory, const policy::RepoPath& path, Trace& trace);

// The digest of one regular file that stands at `path` in the workdir and is open as `fd`; its facts are the
// same before and after. At most `max_bytes`.
struct HashedFile {
  platform::FileFacts facts;
  std::string digest;
};
Result<HashedFile> hash_file(int fd, std::string_view path, std::size_t max_bytes);

}  // namespace repobridge::actions
