// Frames: what was written is read back, whatever was read is what was sent, and no length makes the reader
// allocate more than the limit.
#include "bridge/wire/frame.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "platform/files.h"
#include "platform/unique_fd.h"
#include "tests/fuzz/target.h"

namespace {

std::size_t largest_allocation = 0;

}  // namespace

// The sanitizers' runtime calls this after every allocation; without them nobody does.
extern "C" void __sanitizer_malloc_hook(const volatile void* /*memory*/, std::size_t size);   // NOLINT
extern "C" void __sanitizer_malloc_hook(const volatile void* /*memory*/, std::size_t size) {  // NOLINT
  largest_allocation = std::max(largest_allocation, size);
}

namespace repobridge::fuzz {
namespace {

constexpr std::size_t kMaxBytes = 4096;
// What a pipe surely takes without a reader.
constexpr std::size_t kPipeBytes = 32768;
// A string's own NUL, and what an error's text needs.
constexpr std::size_t kRoom = 256;

// A stream that holds exactly these bytes.
platform::UniqueFd stream_of(std::string_view bytes) {
  std::array<int, 2> ends{-1, -1};
  must(::pipe(ends.data()) == 0, "there are pipes");
  platform::UniqueFd reader(ends[0]);
  const platform::UniqueFd writer(ends[1]);
  must(platform::write_all(writer.get(), bytes).has_value(), "a pipe takes what fits in it");
  return reader;
}

void check_round_trip(std::string_view body) {
  const auto stream = stream_of(wire::frame_of(body));

  const auto first = wire::read_frame(stream.get(), kPipeBytes);
  if (body.empty()) return must(!first, "an empty frame is refused");

  must(first && *first && **first == body, "read(write(x)) = x");
  const auto second = wire::read_frame(stream.get(), kPipeBytes);
  must(second && !*second, "nothing stands after a frame");
}

void check_stream(std::string_view bytes) {
  const auto stream = stream_of(bytes);
  for (;;) {
    largest_allocation = 0;
    const auto frame = wire::read_frame(stream.get(), kMaxBytes);
    must(largest_allocation <= kMaxBytes + kRoom, "no length makes the reader allocate more than the limit");
    if (!frame || !*frame) return;
    const std::string again = wire::frame_of(**frame);
    must(bytes.starts_with(again), "what was read is what was sent");
    bytes.remove_prefix(again.size());
  }
}

}  // namespace

void one_input(std::string_view bytes) {
  bytes = bytes.substr(0, kPipeBytes);
  check_round_trip(bytes);
  check_stream(bytes);
}

}  // namespace repobridge::fuzz
