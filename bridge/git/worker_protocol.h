// What the bridge and a git worker say to each other over the worker's socket: frames of JSON, one question
// and one answer. Where a reference is to move the worker asks first, because git's locks are the bridge's,
// and its answer is what the bridge then puts in place.
//
//   {"root", "power", "scratch", "sandbox_waived"}   the first message; the answer says whether it may begin
//   {"op": …}  →  {"ok": true, "data": …}  |  {"ok": false, "error": {"code", "message", "details"?}}
//
//   commit, track:  {"op": …}                     →  {"step": "lock", "reference"}
//                   {"step": "locked", "index"}   →  {"ok": true, "data": {"reference", "oid", "answer"}}
//                   or at once, when nothing has to move:  {"ok": true, "data": {"answer"}}
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
