// The audit: one JSON line when a call begins, one when it has ended, in a file that is only appended to.
//
// Promise: begin() of a writer is on disk before it returns, and without it nothing happens. Every line is
// whole. Every begin gets its end: what a dead bridge could not end is ended by the next start(), with
// outcome INTERRUPTED. Lines hold names, digests and outcomes; never content, messages, host paths or
// secrets. Strings of callers are bounded and escaped as JSON. Owns: the file; of bridges, one at a time
// (bridge.lock in the state directory). Errors: AUDIT_UNAVAILABLE, which refuses the call. Threads: the event
// loop's one. Source: docs/OPERATIONS.md, "The audit".
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

  // One life of the bridge, from start() to stop(). Of the file, start() reads what stands after the last
  // moment at which no call was at work; such moments are marked now and then, so that this is little.
  Result<void> start(const std::string& generation);
  Result<void> stop(const std::string& generation);

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

  // The administrator opened a workdir again that an earlier writer had left closed.
  struct Recovery {
    std::string login;
    std::string workdir;
    policy::Json holder;          // of the record that was cleared, or null
    std::size_t still_alive = 0;  // processes that carried the run's id
  };
  Result<void> recovered(const Recovery& recovery);

 private:
  explicit Audit(platform::UniqueFd file) : file_(std::move(file)) {}
  Result<void> append(const policy::Json& line, bool durable);
  Result<void> mark(const char* event, const std::string& generation);
  Result<void> end_interrupted();
  platform::UniqueFd file_;
  std::string generation_;
  std::size_t at_work_ = 0;
  std::size_t ended_since_mark_ = 0;
};

}  // namespace repobridge::bridge
