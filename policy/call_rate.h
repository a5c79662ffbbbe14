// How often each of many may call: a bucket for each that fills steadily and holds a minute's worth.
//
// Promise: pure but for what it remembers; time is the caller's. Buckets that are full again are forgotten,
// so memory is bounded by how many called within the last minute, and by kMostBuckets: who has none there is
// refused. Threads: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace repobridge::policy {

class CallRate {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostBuckets = 10000;

  explicit CallRate(std::size_t per_minute) : per_minute_(static_cast<double>(per_minute)) {}

  // Zero: the call is counted and may go on. Else how long until one may.
  std::chrono::milliseconds take(const std::string& who, Clock::time_point now);

 private:
  struct Bucket {
    double calls;
    Clock::time_point seen;
  };
  [[nodiscard]] double calls_in(const Bucket& bucket, Clock::time_point now) const;
  void forget_full(Clock::time_point now);

  double per_minute_;
  std::map<std::string, Bucket, std::less<>> buckets_;
};

}  // namespace repobridge::policy
