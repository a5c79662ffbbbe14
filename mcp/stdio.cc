#include "mcp/stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace repobridge::mcp {
namespace {

using platform::UniqueFd;

constexpr std::size_t kReadBytes = 65536;
// POSIX promises that a pipe which polls as writable takes this much without blocking.
constexpr std::size_t kWriteBytes = 4096;
constexpr std::size_t kMostLinesHandedOver = 64;
constexpr std::size_t kMostOutboxBytes = 16U << 20U;

Result<UniqueFd> private_copy(int fd, std::string_view doing) {
  constexpr int kAboveStandard = 3;
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, kAboveStandard));
  if (!copy.valid()) return os_failure(doing, errno);
  return copy;
}

bool worth_another_try(int os_code) { return os_code == EINTR || os_code == EAGAIN; }

}  // namespace

Result<Pipe> take_over_standard_streams() {
  Pipe client;
  RB_TRY(client.input, private_copy(STDIN_FILENO, "use standard input"));
  RB_TRY(client.output, private_copy(STDOUT_FILENO, "use standard output"));
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return client;
  // Without standard error there is nobody to read what goes astray.
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (::dup2(nowhere.get(), STDOUT_FILENO) < 0) return os_failure("turn stray output away", errno);
  return client;
}

Result<Pipe> new_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_failure("make a pipe", errno);
  return Pipe{.input = UniqueFd(ends[0]), .output = UniqueFd(ends[1])};
}

Stdio::Stdio(Pipe client, Pipe wake, std::size_t max_line_bytes, Handlers handlers)
    : client_(std::move(client)),
      wake_(std::move(wake)),
      max_line_bytes_(max_line_bytes),
      handlers_(std::move(handlers)),
      reader_([this] { work(&Stdio::read_lines); }),
      writer_([this] { work(&Stdio::write_lines); }) {}

Stdio::~Stdio() { stop(std::chrono::milliseconds{0}); }

void Stdio::send(std::string line) {
  line += '\n';
  const std::scoped_lock lock(mutex_);
  if (client_gone_ || stopping_) return;
  outbox_bytes_ += line.size();
  outbox_.push_back(std::move(line));
  changed_.notify_all();
}

void Stdio::stop(std::chrono::milliseconds patience) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return outbox_.empty() || client_gone_; });
    stopping_ = true;
    changed_.notify_all();
  }
  wake_.output.reset();
  if (reader_.joinable()) reader_.join();
  if (writer_.joinable()) writer_.join();
}

bool Stdio::ready(int fd, short events) const {
  std::array<pollfd, 2> watched{{{.fd = fd, .events = events, .revents = 0},
                                 {.fd = wake_.input.get(), .events = POLLIN, .revents = 0}}};
  while (::poll(watched.data(), watched.size(), -1) < 0) {
    if (!worth_another_try(errno)) return false;
  }
  return watched[1].revents == 0;
}

void Stdio::work(void (Stdio::*half)()) {
  try {
    (this->*half)();
  } catch (...) {
    // Out of memory: what was asked cannot be answered, which the client sees by our end.
    hand_over_end();
  }
}

void Stdio::read_lines() {
  LineSplitter splitter(max_line_bytes_);
  const auto take = [this](Line line) { hand_over(std::move(line)); };
  std::string chunk(kReadBytes, '\0');
  while (ready(client_.input.get(), POLLIN)) {
    const ssize_t got = ::read(client_.input.get(), chunk.data(), chunk.size());
    if (got < 0 && worth_another_try(errno)) continue;
    if (got <= 0) {
      splitter.finish(take);
      break;
    }
    splitter.feed(std::string_view(chunk).substr(0, static_cast<std::size_t>(got)), take);
  }
  hand_over_end();
}

void Stdio::hand_over(Line line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    const bool room = lines_handed_over_ < kMostLinesHandedOver && outbox_bytes_ < kMostOutboxBytes;
    return room || client_gone_ || stopping_;
  });
  if (client_gone_ || stopping_) return;
  ++lines_handed_over_;
  handlers_.post([this, line = std::move(line)] {
    handlers_.line(line);
    const std::scoped_lock done(mutex_);
    --lines_handed_over_;
    changed_.notify_all();
  });
}

void Stdio::hand_over_end() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(end_handed_over_, true)) return;
  }
  handlers_.post([this] { handlers_.end(); });
}

void Stdio::write_lines() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !outbox_.empty() || stopping_; });
    if (stopping_) return;
    const std::string line = std::move(outbox_.front());
    lock.unlock();
    const bool written = write_line(line);
    lock.lock();
    outbox_.pop_front();
    outbox_bytes_ -= line.size();
    changed_.notify_all();
    if (!written) break;
  }
  client_gone_ = true;
  outbox_.clear();
  changed_.notify_all();
  lock.unlock();
  hand_over_end();
}

bool Stdio::write_line(std::string_view line) {
  while (!line.empty()) {
    if (!ready(client_.output.get(), POLLOUT)) return false;
    const ssize_t put = ::write(client_.output.get(), line.data(), std::min(line.size(), kWriteBytes));
    if (put < 0 && worth_another_try(errno)) continue;
    if (put < 0) return false;
    line.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace repobridge::mcp
