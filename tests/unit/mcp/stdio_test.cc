#include "mcp/stdio.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <vector>

#include "platform/files.h"

namespace repobridge::mcp {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLimit = 1U << 20U;

// Stands for the event loop: tasks wait here until the test runs them.
class Tasks {
 public:
  void post(std::function<void()> task) {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void run_one() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !tasks_.empty(); });
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
};

class StdioPipe : public testing::Test {
 protected:
  StdioPipe() {
    (void)std::signal(SIGPIPE, SIG_IGN);
    Pipe to_us = *new_pipe();
    Pipe from_us = *new_pipe();
    to_server = std::move(to_us.output);
    from_server = std::move(from_us.input);
    stdio.emplace(Pipe{.input = std::move(to_us.input), .output = std::move(from_us.output)}, *new_pipe(),
                  kLimit,
                  Stdio::Handlers{
                      .post = [this](auto task) { tasks.post(std::move(task)); },
                      .line = [this](const Line& line) { lines.push_back(line.too_long ? "!" : line.text); },
                      .end = [this] { ended = true; }});
  }

  void write(const std::string& text) const { ASSERT_TRUE(platform::write_all(to_server.get(), text)); }
  void run_to_the_end() {
    while (!ended) tasks.run_one();
  }
  // All that the server writes until it closes or `bytes` have come.
  std::string read(std::size_t bytes) const {
    std::string text;
    std::array<char, 65536> chunk{};
    while (text.size() < bytes) {
      const auto got = ::read(from_server.get(), chunk.data(), std::min(chunk.size(), bytes - text.size()));
      if (got <= 0) break;
      text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

  Tasks tasks;
  std::vector<std::string> lines;
  bool ended = false;
  platform::UniqueFd to_server;
  platform::UniqueFd from_server;
  std::optional<Stdio> stdio;
};

TEST_F(StdioPipe, HandsLinesOverInOrderAndThenTheEnd) {
  write("a\nb\nc");
  to_server.reset();
  run_to_the_end();

  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(StdioPipe, ReportsALineThatIsTooLongAndGoesOn) {
  std::thread client([&] {
    write(std::string(kLimit + 10, 'x') + "\nnext\n");
    to_server.reset();
  });
  run_to_the_end();
  client.join();

  EXPECT_EQ(lines, (std::vector<std::string>{"!", "next"}));
}

TEST_F(StdioPipe, TakesAFloodOfLines) {
  constexpr std::size_t kLines = 5000;
  std::thread client([&] {
    for (std::size_t i = 0; i < kLines; ++i) write(std::to_string(i) + "\n");
    to_server.reset();
  });
  run_to_the_end();
  client.join();

  EXPECT_EQ(lines.size(), kLines);
}

TEST_F(StdioPipe, SendsWholeLinesInOrder) {
  const std::string large(300'000, 'x');
  stdio->send(large);
  stdio->send("small");

  EXPECT_EQ(read(large.size() + 7), large + "\nsmall\n");
}

TEST_F(StdioPipe, StopsWhileNobodyWritesToIt) {
  stdio->stop(milliseconds(10'000));

  SUCCEED();
}

TEST_F(StdioPipe, LetsWhatWasSentLeaveBeforeItStops) {
  stdio->send("last words");
  stdio->stop(milliseconds(10'000));
  stdio.reset();

  EXPECT_EQ(read(100), "last words\n");
}

TEST_F(StdioPipe, DoesNotWaitForAClientThatDoesNotRead) {
  stdio->send(std::string(1'000'000, 'x'));
  stdio->stop(milliseconds(1));

  SUCCEED();
}

TEST_F(StdioPipe, TakesAClientThatReadsNoMoreForGone) {
  from_server.reset();
  stdio->send("anybody there?");
  run_to_the_end();

  EXPECT_TRUE(lines.empty());
}

TEST_F(StdioPipe, LeavesTheFlagsOfTheClientsDescriptorsAlone) {
  write("a\n");
  tasks.run_one();
  stdio->send("b");
  (void)read(2);

  EXPECT_EQ(::fcntl(to_server.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(from_server.get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace repobridge::mcp
