// One writer's call from its admission to its answer, which may come long after the call was answered.
//
// Promise: has exactly one end, an Outcome as the call itself would have been answered with. wait_for_end()
// and wait_for_more() may be called by any number at once. Threads: the event loop's one.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "bridge/runs/live_output.h"
#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/message.h"
#include "platform/deadline.h"

namespace repobridge::runs {

// Who may ask for a run: the front whose key was proven, and the caller that it named.
struct RunOwner {
  std::string front;
  std::string caller;
  friend bool operator==(const RunOwner&, const RunOwner&) = default;
};

struct RunFacts {
  std::string id;  // 128 random bits in hex
  RunOwner owner;
  std::string workdir;  // its alias
  std::string root;     // its path, since an alias may come to mean another; never shown
  std::string tool;
  std::string action;  // "" for commit and push
  std::string since;   // RFC 3339, UTC
};

class TrackedRun {
 public:
  explicit TrackedRun(RunFacts facts);
  TrackedRun(TrackedRun&&) = delete;
  TrackedRun& operator=(TrackedRun&&) = delete;
  TrackedRun(const TrackedRun&) = delete;
  TrackedRun& operator=(const TrackedRun&) = delete;
  ~TrackedRun();

  [[nodiscard]] const RunFacts& facts() const { return facts_; }
  [[nodiscard]] std::chrono::milliseconds duration() const;
  [[nodiscard]] const std::shared_ptr<LiveOutput>& output() const { return output_; }
  // Absent while it is at work.
  [[nodiscard]] const std::optional<wire::Outcome>& outcome() const { return outcome_; }

  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  void stop() { stop_.request_stop(); }

  // True when it has ended; false at the deadline, and when the waiter gives up.
  static asio::awaitable<bool> wait_for_end(std::shared_ptr<TrackedRun> run, asio::any_io_executor executor,
                                            platform::Deadline deadline, std::stop_token give_up);
  // Returns when it has ended or printed more than `bytes` altogether, or at the deadline.
  static asio::awaitable<void> wait_for_more(std::shared_ptr<TrackedRun> run, asio::any_io_executor executor,
                                             std::size_t bytes, platform::Deadline deadline);

 private:
  friend class Registry;
  struct Waiter;
  void end(wire::Outcome outcome, std::chrono::milliseconds took);
  void wake();

  RunFacts facts_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::optional<std::chrono::milliseconds> took_;
  std::stop_source stop_;
  std::shared_ptr<LiveOutput> output_;
  std::optional<wire::Outcome> outcome_;
  std::list<Waiter*> waiters_;
};

}  // namespace repobridge::runs
