#include "bridge/wire/frame.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <random>

#include "platform/files.h"
#include "platform/unique_fd.h"
#include "tests/unit/results.h"

namespace repobridge::wire {
namespace {

using namespace std::string_view_literals;
using platform::UniqueFd;
using tests::code_of;
using tests::os_code_of;
using tests::value_of;

// A pipe in which each write() is a packet of its own, so that whoever reads gets it in these pieces; with 0
// an ordinary one. What a reader leaves of a packet is lost, so pieces must not go beyond a header's or
// body's end.
class Pipe {
 public:
  explicit Pipe(int packets = O_DIRECT) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | packets) != 0) throw std::runtime_error("no pipe");
    (void)::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
  }
  void put(std::string_view bytes, std::size_t piece = 4096) const {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      value_of(platform::write_all(write_.get(), bytes.substr(0, piece)));
    }
  }
  void put_frame(std::string_view body, std::size_t piece) const {
    const std::string frame = frame_of(body);
    put(std::string_view(frame).substr(0, sizeof(FrameHeader)), piece);
    put(std::string_view(frame).substr(sizeof(FrameHeader)), piece);
  }
  void end() { write_.reset(); }
  void stop_reading() { read_.reset(); }
  [[nodiscard]] int out() const { return read_.get(); }
  [[nodiscard]] int in() const { return write_.get(); }

 private:
  UniqueFd read_;
  UniqueFd write_;
};

FrameHeader header(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
  return {a, b, c, d};
}

TEST(FrameLength, HasItsMostSignificantByteFirst) {
  constexpr std::size_t kAnything = 0xFFFFFFFF;

  EXPECT_EQ(value_of(frame_length(header(0, 0, 0, 1), kAnything)), 1U);
  EXPECT_EQ(value_of(frame_length(header(0, 0, 1, 0), kAnything)), 256U);
  EXPECT_EQ(value_of(frame_length(header(1, 2, 3, 4), kAnything)), 0x01020304U);
  EXPECT_EQ(value_of(frame_length(header(255, 255, 255, 255), kAnything)), kAnything);
}

TEST(FrameLength, GoesToItsLimitAndNotAByteFurther) {
  EXPECT_EQ(value_of(frame_length(header(0, 0x10, 0, 0), kMaxRequestBytes)), kMaxRequestBytes);
  EXPECT_EQ(code_of(frame_length(header(0, 0x10, 0, 1), kMaxRequestBytes)), "REQUEST_TOO_LARGE");
  EXPECT_EQ(value_of(frame_length(header(0, 0x40, 0, 0), kMaxResultBytes)), kMaxResultBytes);
  EXPECT_EQ(code_of(frame_length(header(0, 0x40, 0, 1), kMaxResultBytes)), "REQUEST_TOO_LARGE");
}

// One code for every excess, however large.
TEST(FrameLength, IsTooLargeAtAnySizeAboveTheLimit) {
  for (const auto& sizes : {header(0, 0x80, 0, 0), header(0x7F, 0xFF, 0xFF, 0xFF), header(0x80, 0, 0, 0),
                            header(0xFF, 0xFF, 0xFF, 0xFF)}) {
    const auto refused = frame_length(sizes, kMaxRequestBytes);
    EXPECT_EQ(code_of(refused), "REQUEST_TOO_LARGE");
    EXPECT_EQ(refused.error().kind, Kind::too_large);
  }
}

TEST(FrameLength, IsNeverZero) {
  EXPECT_EQ(code_of(frame_length(header(0, 0, 0, 0), kMaxRequestBytes)), "INVALID_REQUEST");
}

TEST(Frame, IsItsLengthAndItsBody) {
  EXPECT_EQ(frame_of("{}"), "\0\0\0\2{}"sv);
  EXPECT_EQ(frame_of(std::string(258, 'x')).substr(0, 5), "\0\0\1\2x"sv);
}

TEST(ReadFrame, GivesBackWhatWasWritten) {
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same frames each time
  std::uniform_int_distribution<std::size_t> any_size(1, 100000);
  for (int i = 0; i < 50; ++i) {
    Pipe pipe;
    const std::string body(any_size(random), static_cast<char>('a' + i % 26));

    pipe.put_frame(body, 4096);

    EXPECT_EQ(value_of(read_frame(pipe.out(), kMaxRequestBytes)), body);
  }
}

TEST(ReadFrame, PutsPiecesTogether) {
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 7U}) {
    Pipe pipe;
    pipe.put_frame("a body", piece);

    EXPECT_EQ(value_of(read_frame(pipe.out(), 100)), "a body") << piece;
  }
}

TEST(ReadFrame, TellsTwoFramesOfOneWriteApart) {
  Pipe stream(0);
  stream.put(frame_of("first") + frame_of("second"));
  stream.end();

  EXPECT_EQ(value_of(read_frame(stream.out(), 100)), "first");
  EXPECT_EQ(value_of(read_frame(stream.out(), 100)), "second");
  EXPECT_EQ(value_of(read_frame(stream.out(), 100)), std::nullopt);
}

TEST(ReadFrame, TellsAnEndBetweenFramesFromOneInside) {
  const std::string frame = frame_of("body");
  for (std::size_t kept = 0; kept < frame.size(); ++kept) {
    Pipe pipe;
    pipe.put(frame.substr(0, kept), 1);
    pipe.end();

    const auto read = read_frame(pipe.out(), 100);

    if (kept == 0) {
      EXPECT_EQ(value_of(read), std::nullopt);
    } else {
      EXPECT_EQ(code_of(read), "INVALID_REQUEST") << kept;
    }
  }
}

TEST(ReadFrame, RefusesAnExcessBeforeItReadsOn) {
  Pipe pipe;
  pipe.put("\xFF\xFF\xFF\xFF", 1);

  EXPECT_EQ(code_of(read_frame(pipe.out(), kMaxResultBytes)), "REQUEST_TOO_LARGE");
}

TEST(ReadFrame, ReportsWhatCannotBeRead) { EXPECT_EQ(os_code_of(read_frame(-1, 100)), EBADF); }

TEST(WriteFrame, WritesHeaderAndBody) {
  const Pipe stream(0);

  value_of(write_frame(stream.in(), "body"));

  EXPECT_EQ(value_of(read_frame(stream.out(), 4)), "body");
}

TEST(WriteFrame, ReportsAReaderThatIsGone) {
  Pipe pipe;
  pipe.stop_reading();
  ::signal(SIGPIPE, SIG_IGN);

  EXPECT_EQ(os_code_of(write_frame(pipe.in(), "body")), EPIPE);
  ::signal(SIGPIPE, SIG_DFL);
}

}  // namespace
}  // namespace repobridge::wire
