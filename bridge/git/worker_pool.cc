#include "bridge/git/worker_pool.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <stop_token>

#include "bridge/git/worker.h"
#include "bridge/parts.h"
#include "bridge/wire/timeout.h"
#include "policy/codes.h"

namespace repobridge::git {

struct WorkerPool::Kept {
  explicit Kept(Worker started) : worker(std::move(started)) {}
  Worker worker;
  int questions = 0;
  std::chrono::steady_clock::time_point born = std::chrono::steady_clock::now();
  std::optional<wire::Timeout> end_of_life;  // set while it is kept
};

namespace {

// The worker itself failed, as opposed to what it was asked.
bool is_fault_of_worker(const Error& error) {
  return error.code == policy::codes::kGitFailed.name || error.code == policy::codes::kGitTimeout.name ||
         error.code == policy::codes::kCallCancelled.name || error.code == policy::codes::kInternalError.name;
}

}  // namespace

// A question's place: in the line, then among those at work, and given to the next when it ends.
class WorkerPool::Turn {
 public:
  Turn(const asio::any_io_executor& executor, Room& room) : room_(&room), called_(executor) {
    if (room.at_work < kMostAtOnce) {
      begin();
    } else {
      room.waiting.push_back(this);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!begun_) {
      std::erase(room_->waiting, this);
      return;
    }
    --room_->at_work;
    if (room_->waiting.empty()) return;
    Turn* next = room_->waiting.front();
    room_->waiting.pop_front();
    next->begin();
    next->called_.cancel();
  }

  asio::awaitable<Result<void>> come(bridge::CallContext context) {
    const std::stop_callback wake(context.stop, [this] { called_.cancel(); });
    while (!begun_) {
      if (context.stop.stop_requested()) {
        co_return policy::refuse(policy::codes::kCallCancelled, "the call was given up");
      }
      if (context.deadline.passed()) {
        co_return policy::refuse(policy::codes::kGitTimeout, "too many others were asking about the workdir");
      }
      called_.expires_at(context.deadline.at());
      (void)co_await called_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return Result<void>();
  }

 private:
  void begin() {
    begun_ = true;
    ++room_->at_work;
  }

  Room* room_;
  asio::steady_timer called_;
  bool begun_ = false;
};

WorkerPool::WorkerPool() = default;
WorkerPool::~WorkerPool() = default;

void WorkerPool::clear() {
  for (auto& [root, room] : rooms_) room.kept.clear();
}

std::unique_ptr<WorkerPool::Kept> WorkerPool::take(Room& room) {
  if (room.kept.empty()) return nullptr;
  auto worker = std::move(room.kept.back());
  room.kept.pop_back();
  worker->end_of_life.reset();
  worker->worker.unwatch();
  return worker;
}

void WorkerPool::keep(const bridge::CallContext& context, Room& room, std::unique_ptr<Kept> worker) {
  const auto end = worker->born + kLongestLife;
  if (worker->questions >= kMostQuestions || std::chrono::steady_clock::now() >= end) return;
  const auto drop = [&room, one = worker.get()] {
    std::erase_if(room.kept, [one](const auto& kept) { return kept.get() == one; });
  };
  worker->end_of_life.emplace(context.executor, end, drop);
  worker->worker.watch(drop);  // one that dies meanwhile is not left as a zombie
  room.kept.push_back(std::move(worker));
}

asio::awaitable<Result<policy::Json>> WorkerPool::ask(bridge::CallContext context, const bridge::Parts& parts,
                                                      std::string root, policy::Json question) {
  Room& room = rooms_[root];
  Turn turn(context.executor, room);
  RB_CO_CHECK(co_await turn.come(context));
  if (auto worker = take(room)) {
    auto answer = co_await ask_one(context, room, std::move(worker), question);
    // It may have died before the question came; a fresh one gets a fair chance, once.
    const bool died = !answer && answer.error().code == policy::codes::kGitFailed.name;
    if (!died || context.deadline.passed()) co_return answer;
  }
  WorkerOrder order{.root = std::move(root)};
  RB_CO_TRY(auto started, co_await Worker::start(context, parts, std::move(order)));
  auto fresh = std::make_unique<Kept>(std::move(started));
  co_return co_await ask_one(context, room, std::move(fresh), std::move(question));
}

asio::awaitable<Result<policy::Json>> WorkerPool::ask_one(bridge::CallContext context, Room& room,
                                                          std::unique_ptr<Kept> worker,
                                                          policy::Json question) {
  ++worker->questions;
  auto answer = co_await worker->worker.ask(context, std::move(question));
  if (answer || !is_fault_of_worker(answer.error())) keep(context, room, std::move(worker));
  co_return answer;
}

}  // namespace repobridge::git
