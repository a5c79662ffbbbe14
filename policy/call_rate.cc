#include "policy/call_rate.h"

#include <algorithm>
#include <cmath>

namespace repobridge::policy {
namespace {

constexpr double kMillisecondsAMinute = 60000;

}  // namespace

std::chrono::milliseconds CallRate::take(const std::string& who, Clock::time_point now) {
  if (!buckets_.contains(who) && buckets_.size() >= kMostBuckets) {
    forget_full(now);
    if (buckets_.size() >= kMostBuckets) return std::chrono::minutes{1};
  }
  Bucket& bucket = buckets_.try_emplace(who, Bucket{.calls = per_minute_, .seen = now}).first->second;
  bucket = Bucket{.calls = calls_in(bucket, now), .seen = now};
  if (bucket.calls < 1) {
    const double wait = (1 - bucket.calls) / per_minute_ * kMillisecondsAMinute;
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(wait)));
  }
  bucket.calls -= 1;
  return {};
}

double CallRate::calls_in(const Bucket& bucket, Clock::time_point now) const {
  const std::chrono::duration<double, std::milli> since = now - bucket.seen;
  return std::min(per_minute_, bucket.calls + since.count() / kMillisecondsAMinute * per_minute_);
}

void CallRate::forget_full(Clock::time_point now) {
  std::erase_if(buckets_, [&](const auto& entry) { return calls_in(entry.second, now) >= per_minute_; });
}

}  // namespace repobridge::policy
