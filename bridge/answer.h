// From what a call came to, to what its caller is shown.
//
// Promise: nothing leaves unredacted or unbounded, and an error of the rooms below that is not meant for
// callers becomes INTERNAL_ERROR, with the fault in the log.
#pragma once

#include <string>

#include "bridge/parts.h"
#include "bridge/wire/message.h"
#include "policy/call.h"

namespace repobridge::bridge {

wire::Outcome answer_of(const Parts& parts, const policy::Call& call, const wire::Caller& caller,
                        Result<policy::Json> data);
wire::Outcome refusal_of(const Parts& parts, Error error);
// Before there are parts to redact by: errors of ours, which name nothing.
wire::Outcome outcome_of(const Error& error);

// "ok", or the code of the error: for the audit.
std::string code_in(const wire::Outcome& outcome);

}  // namespace repobridge::bridge
