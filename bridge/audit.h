// The audit: one JSON line when a call begins, one when it has ended, in a file that is only appended to.
//
// Promise: begin() of a writer is on disk before it returns, and without it nothing happens. Lines hold
// names, digests and outcomes; never content, messages, host paths or secrets. Strings of callers are bounded
// and escaped as JSON. Errors: AUDIT_UNAVAILABLE, which refuses the call. Threads: the event loop's one.
// Source: docs/OPERATIONS.md, "The audit".
#pragma once

#include <chrono>
#include <string>

#include "bridge/wire/message.h"
#include "platform/result.h"
#include "platform/unique_fd.h"
#include "policy/call.h"

namespace repobridge::bridge {

class Audit {
 public:
  static Result<Audit> open(const std::string& state_dir);

  struct Call {
    std::string id;
    std::string front;  // the name of the key that proved it
    wire::Caller caller;
    std::string tool;
    std::string workdir;
    std::string detail;  // the view or the action
    std::string arguments_sha256;
    bool writes = false;
  };

  Result<void> begin(const Call& call);
  // `code`: "ok" or the code of the error. `body`: the answer, of which a digest is kept.
  Result<void> end(const Call& call, const std::string& code, const policy::Json& body,
                   std::chrono::milliseconds took);
  // A call that was not let through.
  Result<void> refused(const Call& call, const std::string& code);

 private:
  explicit Audit(platform::UniqueFd file) : file_(std::move(file)) {}
  Result<void> append(const policy::Json& line, bool durable);
  platform::UniqueFd file_;
};

}  // namespace repobridge::bridge
