// What `git push --porcelain` and `git ls-remote` said, read strictly: the text is the remote's.
//
// Errors: REPO_PUSH_NON_FAST_FORWARD, REPO_PUSH_REJECTED, REPO_PUSH_FAILED; details carry the remote's own
// words as data, bounded and without control characters. Source: git-push(1), "OUTPUT".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::git {

struct RemoteHead {
  std::string oid;
  std::string reference;
};

// The lines of ls-remote that are heads; others are passed over.
std::vector<RemoteHead> parse_remote_heads(std::string_view text);

enum class PushResult : std::uint8_t { pushed, up_to_date };

// `out` and `err` are the streams of a push of one reference that has ended.
Result<PushResult> read_push_report(std::string_view out, std::string_view err, const std::string& reference);

// The lines that the remote wrote ("remote: …"), printable, at most 2000 bytes.
std::string remote_words(std::string_view err);

}  // namespace repobridge::git
