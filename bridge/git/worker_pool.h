// Workers that only look, kept for the next question about the same workdir: starting one costs more than
// most answers.
//
// Promise: a kept worker is of one root, used a bounded number of times and for a bounded time, and dropped
// after any failure of its own. When one that was kept has died meanwhile, the question goes to a fresh one;
// a caller never sees more than one error for one question. Owns: the kept workers. Threads: the event loop's
// one. Errors: those of Worker.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "bridge/context.h"
#include "bridge/wire/asio_fwd.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::bridge {
struct Parts;
}

namespace repobridge::git {

class WorkerPool {
 public:
  // After so many questions or so long a time a worker is replaced: what leaks, ends.
  static constexpr int kMostQuestions = 100;
  static constexpr std::chrono::seconds kLongestLife{60};

  WorkerPool();
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  asio::awaitable<Result<policy::Json>> ask(bridge::CallContext context, const bridge::Parts& parts,
                                            std::string root, policy::Json question);
  // Drops all that are kept.
  void clear();

 private:
  struct Kept;
  std::unique_ptr<Kept> take(const std::string& root);
  // Keeps the worker afterwards, unless it failed.
  asio::awaitable<Result<policy::Json>> ask_one(bridge::CallContext context, std::string root,
                                                std::unique_ptr<Kept> worker, policy::Json question);
  void keep(const bridge::CallContext& context, const std::string& root, std::unique_ptr<Kept> worker);
  std::map<std::string, std::unique_ptr<Kept>> kept_;
};

}  // namespace repobridge::git
