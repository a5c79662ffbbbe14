// Workers that only look, kept for the next question about the same workdir: starting one costs more than
// most answers.
//
// Promise: so many questions about one root are at work at once; further ones wait in line, first come, first
// served, within their deadlines. A kept worker is of one root, used a bounded number of times and for a
// bounded time, and dropped after any failure of its own. When one that was kept has died meanwhile, the
// question goes to a fresh one; a caller never sees more than one error for one question. Owns: the kept
// workers. Threads: the event loop's one. Errors: those of Worker, while a question waits in line too.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

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
  // Each worker more would be a process that is started and soon not needed, and read the same files.
  static constexpr std::size_t kMostAtOnce = 4;

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
  class Turn;
  struct Room {
    std::vector<std::unique_ptr<Kept>> kept;  // the one used last is taken first
    std::size_t at_work = 0;
    std::deque<Turn*> waiting;  // only while as many are at work as may be
  };

  static std::unique_ptr<Kept> take(Room& room);
  // Keeps the worker afterwards, unless it failed.
  static asio::awaitable<Result<policy::Json>> ask_one(bridge::CallContext context, Room& room,
                                                       std::unique_ptr<Kept> worker, policy::Json question);
  static void keep(const bridge::CallContext& context, Room& room, std::unique_ptr<Kept> worker);

  std::map<std::string, Room> rooms_;  // of each root that was ever asked about: workdirs, so not many
};

}  // namespace repobridge::git
