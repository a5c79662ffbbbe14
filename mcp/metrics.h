// What the front counts of itself, as Prometheus reads it.
//
// Promise: the number of series is bounded: tools and codes are those of our tables, whatever was called.
// Threads: the event loop's one. Source: Prometheus "Text-based format", version 0.0.4.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace repobridge::mcp {

class Metrics {
 public:
  void call_began() { ++in_flight_; }
  // `code` is OK or the code of the refusal.
  void call_ended(const std::string& tool, const std::string& code, std::chrono::nanoseconds took);
  // A call that the front itself refused.
  void call_refused(const std::string& tool, const std::string& code);
  void answered(int status) { ++answers_[status]; }
  void connections_changed(std::ptrdiff_t change) { connections_ += change; }

  [[nodiscard]] std::string text() const;

 private:
  // Seconds; clients give up after about 60.
  static constexpr std::array kBounds = {0.005, 0.01, 0.025, 0.05, 0.1,  0.25, 0.5,
                                         1.0,   2.5,  5.0,   10.0, 30.0, 60.0};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size()> within{};  // each holds the ones below it too
    std::uint64_t count = 0;
    double sum_seconds = 0;
  };

  std::map<std::pair<std::string, std::string>, std::uint64_t> calls_;  // by tool and code
  std::map<std::string, Histogram> latency_;                            // by tool
  std::map<int, std::uint64_t> answers_;                                // by status
  std::ptrdiff_t connections_ = 0;
  std::int64_t in_flight_ = 0;
};

}  // namespace repobridge::mcp
