// The moment at which a wait gives up. Made once where a call begins and handed down, so that a chain of
// waits has one end. Units: std::chrono on the steady clock; a changed wall clock moves nothing.
#pragma once

#include <algorithm>
#include <chrono>

namespace repobridge::platform {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(std::chrono::milliseconds wait) { return Deadline(Clock::now() + wait); }

  [[nodiscard]] Clock::time_point at() const { return at_; }
  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
  [[nodiscard]] std::chrono::milliseconds left() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(at_ - Clock::now());
    return std::max(left, std::chrono::milliseconds{0});
  }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace repobridge::platform
