// The runs of this bridge: those at work, and for a while those that have ended, so that a call which did not
// wait for its end, or lost its answer, can be answered later.
//
// Promise: admit() bounds how many are at work, altogether and for one caller. A run is found by its owner
// alone, in the workdir it was started in. Kept are the latest kMostKept, together kMostKeptBytes, for
// kLongestKept, in memory and in the state directory: a front may come back, and so may the bridge, to which
// a run that was at work when it died has then ended as `killed` with reason `bridge_restarted`. What is kept
// is what a caller would have been shown. A file that cannot be written or read loses that much and nothing
// else. Owns: the runs; the files of `directory`. Threads: the event loop's one. Errors: TOO_MANY_RUNS,
// RUN_NOT_FOUND. Source: docs/PROTOCOL.md section 5, "Long work".
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/runs/tracked_run.h"
#include "platform/result.h"
#include "policy/policy.h"

namespace repobridge::runs {

class Registry {
 public:
  static constexpr std::size_t kMostKept = 200;
  static constexpr std::size_t kMostKeptBytes = std::size_t{32} << 20U;
  static constexpr std::chrono::hours kLongestKept{24 * 7};

  using Clock = std::function<std::chrono::system_clock::time_point()>;
  using Run = std::shared_ptr<TrackedRun>;

  // `directory` is made when it is missing.
  static Result<Registry> open(std::string directory, policy::RunLimits limits,
                               Clock clock = std::chrono::system_clock::now);

  Result<Run> admit(RunFacts facts);
  // It was refused after all; nothing of it is kept.
  void withdraw(const Run& run);
  // From here on it is remembered.
  void started(const Run& run);
  void ended(const Run& run, wire::Outcome outcome);

  // One that has started. Without an id: the owner's latest in the workdir.
  [[nodiscard]] Result<Run> find(const RunOwner& owner, const std::string& workdir, const std::string& root,
                                 const std::optional<std::string>& id) const;

  // For the administrator: all of them, the latest first; and one.
  [[nodiscard]] std::vector<Run> all() const;
  [[nodiscard]] Result<Run> find_any(const std::string& id) const;

  void stop_all();
  [[nodiscard]] bool idle() const;
  // Called whenever the last run at work has ended.
  void on_idle(std::function<void()> told) { told_idle_ = std::move(told); }

 private:
  struct Kept {
    Run run;
    bool started = false;
    std::chrono::system_clock::time_point ended;
    std::size_t bytes = 0;  // of its file; 0 while it is at work
  };

  Registry(std::string directory, policy::RunLimits limits, Clock clock)
      : directory_(std::move(directory)), limits_(limits), clock_(std::move(clock)) {}
  void load();
  void load_one(const std::string& name);
  void save(Kept& kept) const;
  void drop(std::size_t index);
  void forget_the_oldest();
  [[nodiscard]] std::string path_of(const std::string& id) const;

  std::string directory_;
  policy::RunLimits limits_;
  Clock clock_;
  std::vector<Kept> kept_;  // the earliest first
  std::function<void()> told_idle_;
};

}  // namespace repobridge::runs
