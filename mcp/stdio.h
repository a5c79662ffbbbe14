// The client's pipe: standard input and output, each with a thread of its own.
//
// Promise: what is sent leaves whole, in order, one line each, and nothing but that leaves: take_over() gives
// whatever else writes to descriptor 1 standard error instead. The flags of the client's descriptors are not
// touched. Reading pauses while the client does not read what it was sent, so neither side's flood fills the
// memory. Handlers run where `post` takes them, never on these threads.
// Owns: its descriptors and threads; stop() or the end of the object joins them, whatever they wait for.
// Errors: none past take_over(); a client that is gone shows as the end of input.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "mcp/line_splitter.h"
#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::mcp {

struct Pipe {
  platform::UniqueFd input;
  platform::UniqueFd output;
};

// The process's own, as private descriptors.
Result<Pipe> take_over_standard_streams();

class Stdio {
 public:
  struct Handlers {
    // Runs a task on the main thread, later.
    std::function<void(std::function<void()>)> post;
    std::function<void(const Line&)> line;
    std::function<void()> end;  // once, after the last line
  };

  // `wake` is a pipe of ours; closing its writing end calls both threads off.
  Stdio(Pipe client, Pipe wake, std::size_t max_line_bytes, Handlers handlers);
  Stdio(Stdio&&) = delete;
  Stdio& operator=(Stdio&&) = delete;
  Stdio(const Stdio&) = delete;
  Stdio& operator=(const Stdio&) = delete;
  ~Stdio();

  void send(std::string line);
  // Waits until what was sent has left, but no longer than `patience`; then ends both threads.
  void stop(std::chrono::milliseconds patience);

 private:
  void work(void (Stdio::*half)());
  void read_lines();
  void hand_over(Line line);
  void hand_over_end();
  void write_lines();
  bool write_line(std::string_view line);
  // Whether `fd` became ready before the threads were called off.
  [[nodiscard]] bool ready(int fd, short events) const;

  Pipe client_;
  Pipe wake_;
  std::size_t max_line_bytes_;
  Handlers handlers_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> outbox_;  // the front one stays until it is written
  std::size_t outbox_bytes_ = 0;
  std::size_t lines_handed_over_ = 0;
  bool stopping_ = false;
  bool client_gone_ = false;
  bool end_handed_over_ = false;

  std::thread reader_;
  std::thread writer_;
};

Result<Pipe> new_pipe();

}  // namespace repobridge::mcp
