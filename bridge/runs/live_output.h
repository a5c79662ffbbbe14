// What a run has printed so far, while it is at work: how much for its caller, and its last part for the
// administrator who follows it.
//
// Promise: keeps at most kMostKept bytes of each stream, the latest. A position counts from the stream's
// beginning and stays good for as long as the run. Threads: the event loop's one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace repobridge::runs {

enum class Stream : std::uint8_t { out, err };

class LiveOutput {
 public:
  static constexpr std::size_t kMostKept = std::size_t{1} << 20U;

  // `on_growth` hears of each addition, after it was made.
  explicit LiveOutput(std::function<void()> on_growth) : on_growth_(std::move(on_growth)) {}

  void add(Stream stream, std::string_view bytes) {
    Kept& kept = kept_[static_cast<std::size_t>(stream)];
    kept.last.append(bytes);
    kept.total += bytes.size();
    // Cut seldom and by much, so that a stream of small additions costs little.
    if (kept.last.size() > 2 * kMostKept) kept.last.erase(0, kept.last.size() - kMostKept);
    on_growth_();
  }

  [[nodiscard]] std::size_t bytes() const { return kept_[0].total + kept_[1].total; }
  [[nodiscard]] std::size_t bytes(Stream stream) const {
    return kept_[static_cast<std::size_t>(stream)].total;
  }

  // What came after `position`, as far as it is still kept. Views this.
  [[nodiscard]] std::string_view after(Stream stream, std::size_t position) const {
    const Kept& kept = kept_[static_cast<std::size_t>(stream)];
    const std::size_t first = kept.total - kept.last.size();
    if (position >= kept.total) return {};
    return std::string_view(kept.last).substr(position > first ? position - first : 0);
  }

 private:
  struct Kept {
    std::string last;
    std::size_t total = 0;
  };
  std::array<Kept, 2> kept_;
  std::function<void()> on_growth_;
};

}  // namespace repobridge::runs
