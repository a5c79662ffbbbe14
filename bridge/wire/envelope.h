// The shape of every answer a caller gets: an envelope on success, an error object otherwise.
//
// Promise: the bridge builds it whole; the front forwards it, and uses error_body() only for refusals of its
// own. Source: docs/PROTOCOL.md section 4.
#pragma once

#include <string>

#include "bridge/wire/message.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::wire {

struct Success {
  Caller caller;
  policy::Json request;  // what was asked: tool, workdir and what narrows it
  policy::Json data;
};

policy::Json envelope(Success success);

// {"error": {status, kind, code, message, details?}}
policy::Json error_body(const Error& error);

}  // namespace repobridge::wire
