#include "bridge/wire/frame.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>

#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::wire {
namespace {

constexpr unsigned kBitsPerByte = 8;

// Reads until `size` bytes are there or the stream ends; returns how many came.
Result<std::size_t> read_up_to(int fd, char* into, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, into + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_failure("read a frame", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Failure cut_short() {
  return policy::refuse(policy::codes::kInvalidRequest, "the stream ended inside a frame");
}

}  // namespace

Result<std::size_t> frame_length(const FrameHeader& header, std::size_t max_bytes) {
  std::size_t length = 0;
  for (const unsigned char byte : header) length = (length << kBitsPerByte) | byte;
  if (length > max_bytes) {
    return policy::refuse(policy::codes::kRequestTooLarge, "a frame is longer than its direction allows");
  }
  if (length == 0) return policy::refuse(policy::codes::kInvalidRequest, "a frame is empty");
  return length;
}

std::string frame_of(std::string_view body) {
  if (body.size() > std::numeric_limits<std::uint32_t>::max()) std::abort();  // limits are far below
  std::string frame;
  frame.reserve(body.size() + sizeof(FrameHeader));
  for (unsigned shift = 4 * kBitsPerByte; shift > 0; shift -= kBitsPerByte) {
    frame += static_cast<char>((body.size() >> (shift - kBitsPerByte)) & 0xFFU);
  }
  return frame.append(body);
}

Result<std::optional<std::string>> read_frame(int fd, std::size_t max_bytes) {
  std::array<char, sizeof(FrameHeader)> raw{};
  RB_TRY(const auto got, read_up_to(fd, raw.data(), raw.size()));
  if (got == 0) return std::nullopt;
  if (got < raw.size()) return cut_short();
  FrameHeader header{};
  for (std::size_t i = 0; i < raw.size(); ++i) header.at(i) = static_cast<unsigned char>(raw.at(i));
  RB_TRY(const auto length, frame_length(header, max_bytes));
  std::string body(length, '\0');
  RB_TRY(const auto body_got, read_up_to(fd, body.data(), length));
  if (body_got < length) return cut_short();
  return std::optional<std::string>(std::move(body));
}

Result<void> write_frame(int fd, std::string_view body) { return platform::write_all(fd, frame_of(body)); }

}  // namespace repobridge::wire
