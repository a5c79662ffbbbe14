// What git, ssh and the remote said in a conversation that has ended: `git push --porcelain`, `git
// ls-remote`.
//
// Promise: read strictly. Whose words they are decides what they may mean: the remote's own never decide
// between one cause of a failure and another where git or ssh said it too, and they reach a caller only in
// details.remote_says, printable and bounded. Nothing of a URL, a path or a credential is repeated.
// Errors: REPO_PUSH_NON_FAST_FORWARD, REPO_PUSH_REJECTED, REPO_PUSH_FAILED and one code for each way in which
// a remote is not reached; the table stands in push_report.cc.
// Source: git-push(1), "OUTPUT"; the texts of git 2.39, curl 7.88 and OpenSSH 9.2 in the C locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/push_target.h"

namespace repobridge::git {

struct RemoteHead {
  std::string oid;
  std::string reference;
};

// 40 hexadecimal digits.
bool is_oid(std::string_view text);

// The lines of ls-remote that are heads; others are passed over.
std::vector<RemoteHead> parse_remote_heads(std::string_view text);

// Before anything was sent, or while it was.
enum class Stage : std::uint8_t { asking, sending };

struct Conversation {
  Stage stage = Stage::asking;
  policy::PushUrl::Scheme scheme = policy::PushUrl::Scheme::https;
  std::string_view err;  // git's standard error: git's words, those of the remote, and of ssh without a log
  // What the ssh client wrote to a log of its own; absent when it kept none.
  std::optional<std::string_view> ssh_log;
};

// Why a conversation failed, as far as what was said tells.
Failure conversation_failure(const Conversation& said);

enum class PushResult : std::uint8_t { pushed, up_to_date };

// `out`: the report of a push of one reference.
Result<PushResult> read_push_report(std::string_view out, const Conversation& said,
                                    const std::string& reference);

// The lines that the remote wrote, printable, at most 2000 bytes.
std::string remote_words(std::string_view err);

}  // namespace repobridge::git
