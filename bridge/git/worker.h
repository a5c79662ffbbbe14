// A git worker seen from the bridge: a process to ask, with a limit on every answer.
//
// Promise: an answer comes by the deadline and within kQuestionLimit, or the worker is killed; a worker that
// was killed, ended or answered nonsense is not asked again. Destroying it kills it and waits for its end.
// Owns: the process and the socket. Threads: the event loop's one; one question at a time. Errors:
// REPO_GIT_TIMEOUT, REPO_GIT_FAILED, CALL_CANCELLED, and whatever the worker refuses with. Source:
// bridge/git/worker_protocol.h.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "bridge/context.h"
#include "bridge/git/written_directories.h"
#include "bridge/programs.h"
#include "bridge/wire/asio_fwd.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::bridge {
struct Parts;
}

namespace repobridge::git {

// What a worker is started for.
struct WorkerOrder {
  std::string root;
  Power power = Power::look;
  std::string scratch;  // name of the scratch directory below .git, for a commit
  int lease = -1;       // the lock that the worker keeps while it lives; -1 for one that only looks
};

// No question takes longer unless something is wrong, however long the run may that asks it.
inline constexpr std::chrono::seconds kQuestionLimit{120};

class Worker {
 public:
  // Started, told its repository and confined; the directories it writes in are made.
  static asio::awaitable<Result<Worker>> start(bridge::CallContext context, const bridge::Parts& parts,
                                               WorkerOrder order);
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) = delete;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  // While nothing is asked: `ended` is called from the event loop when the process ends or speaks unasked;
  // not after this Worker is gone, but it may still be called when it was just about to be before unwatch().
  void watch(std::function<void()> ended);
  void unwatch();

  // One message there and one back, whatever it is.
  asio::awaitable<Result<policy::Json>> exchange(bridge::CallContext context, policy::Json message);
  // The same, where the answer is the end: its data, or the error it carries.
  asio::awaitable<Result<policy::Json>> ask(bridge::CallContext context, policy::Json question);

 private:
  struct Process;
  explicit Worker(std::unique_ptr<Process> process);
  static Result<Worker> spawn(const asio::any_io_executor& executor, const bridge::Programs& programs,
                              int lease);
  std::unique_ptr<Process> process_;
};

}  // namespace repobridge::git
