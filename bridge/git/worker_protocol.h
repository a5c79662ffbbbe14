// What the bridge and a git worker say to each other over the worker's socket: frames of JSON, one question
// and one answer, but for a commit, which is a conversation because the locks are the bridge's.
//
//   {"op": …}  →  {"ok": true, "data": …}  |  {"ok": false, "error": {"code", "message", "details"?}}
//
//   commit:  {"op": "commit", …}            →  {"step": "lock"}
//            {"step": "locked", "index"}    →  {"step": "publish", "reference", "old", "new"}
//            {"step": "published"}          →  {"ok": …}
//
// Promise: an answer carries errors with their code, and an unknown code becomes INTERNAL_ERROR.
#pragma once

#include <string>

#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::git {

// The worker's end of the socket.
inline constexpr int kWorkerSocket = 3;
inline constexpr std::size_t kMaxWorkerFrameBytes = 64U << 20U;

std::string encode_success(const policy::Json& data);
std::string encode_failure(const Error& error);
std::string encode_step(const char* step, policy::Json fields = policy::Json::object());

// The data of an answer, or the error it carries.
Result<policy::Json> decode_answer(const policy::Json& answer);

}  // namespace repobridge::git
