// A git worker seen from the bridge: a process to ask, with a limit on every answer.
//
// Promise: an answer comes by the deadline or the worker is killed; a worker that was killed, ended or
// answered nonsense is not asked again. Destroying it kills it. Owns: the process and the socket. Threads:
// the event loop's one; one question at a time. Errors: REPO_GIT_TIMEOUT, REPO_GIT_FAILED, CALL_CANCELLED,
// and whatever the worker refuses with. Source: bridge/git/worker_protocol.h.
#pragma once

#include <memory>

#include "bridge/context.h"
#include "bridge/programs.h"
#include "bridge/wire/asio_fwd.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::git {

class Worker {
 public:
  // `lease`: the lock that the worker keeps while it lives, -1 for one that only looks.
  static Result<Worker> start(const asio::any_io_executor& executor, const bridge::Programs& programs,
                              int lease);
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) = delete;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  // One message there and one back, whatever it is.
  asio::awaitable<Result<policy::Json>> exchange(bridge::CallContext context, policy::Json message);
  // The same, where the answer is the end: its data, or the error it carries.
  asio::awaitable<Result<policy::Json>> ask(bridge::CallContext context, policy::Json question);

 private:
  struct Process;
  explicit Worker(std::unique_ptr<Process> process);
  std::unique_ptr<Process> process_;
};

}  // namespace repobridge::git
