#include "bridge/git/similarity.h"

#include <algorithm>

namespace repobridge::git {
namespace {

constexpr std::uint32_t kHashes = 107927;
constexpr std::size_t kLongestSpan = 64;
constexpr std::size_t kBinaryProbeBytes = 8000;

}  // namespace

Spans Spans::of(std::string_view bytes) {
  Spans made;
  made.size_ = bytes.size();
  const bool text = bytes.substr(0, kBinaryProbeBytes).find('\0') == std::string_view::npos;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool before_line_feed = bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n';
    if (!(text && before_line_feed)) {
      const std::uint32_t old_low = low;
      low = (low << 7U) ^ (high >> 25U);
      high = (high << 7U) ^ (old_low >> 25U);
      low += static_cast<unsigned char>(bytes[i]);
      ++length;
    }
    const bool ends = length == kLongestSpan || bytes[i] == '\n' || i + 1 == bytes.size();
    if (!ends || length == 0) continue;
    made.spans_.push_back({.hash = (low + high * 0x61U) % kHashes, .bytes = length});
    low = high = 0;
    length = 0;
  }
  std::ranges::sort(made.spans_, {}, &Span::hash);
  std::size_t kept = 0;
  for (const auto& span : made.spans_) {
    if (kept > 0 && made.spans_[kept - 1].hash == span.hash) {
      made.spans_[kept - 1].bytes += span.bytes;
    } else {
      made.spans_[kept++] = span;
    }
  }
  made.spans_.resize(kept);
  return made;
}

std::uint64_t Spans::similarity(const Spans& other) const {
  const auto [smaller, larger] = std::minmax(size_, other.size_);
  if (smaller * 2 < larger || larger == 0) return 0;
  std::uint64_t kept = 0;
  auto theirs = other.spans_.begin();
  for (const auto& span : spans_) {
    while (theirs != other.spans_.end() && theirs->hash < span.hash) ++theirs;
    if (theirs == other.spans_.end()) break;
    if (theirs->hash == span.hash) kept += std::min(span.bytes, theirs->bytes);
  }
  return kept * kMostSimilar / larger;
}

}  // namespace repobridge::git
