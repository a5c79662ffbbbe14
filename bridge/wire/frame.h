// Frames: how one JSON object travels on a stream. Four bytes of length, most significant first, then that
// many bytes of UTF-8 JSON.
//
// Promise: a length over the limit is refused before anything is allocated; a stream that ends inside a frame
// is a fault, one that ends between frames an end. No text is looked at here. Errors: REQUEST_TOO_LARGE,
// INVALID_REQUEST. Source: docs/PROTOCOL.md section 2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::wire {

inline constexpr std::size_t kMaxRequestBytes = 1U << 20U;
inline constexpr std::size_t kMaxResultBytes = 4U << 20U;

using FrameHeader = std::array<unsigned char, 4>;

// How many bytes follow.
Result<std::size_t> frame_length(const FrameHeader& header, std::size_t max_bytes);

// Header and body in one, ready to be written.
std::string frame_of(std::string_view body);

// The same over a blocking descriptor, for the helpers that have no event loop. An empty optional is the end
// of the stream.
Result<std::optional<std::string>> read_frame(int fd, std::size_t max_bytes);
Result<void> write_frame(int fd, std::string_view body);

}  // namespace repobridge::wire
