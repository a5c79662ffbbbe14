#include "bridge/git/worker_pool.h"

#include <optional>

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

WorkerPool::WorkerPool() = default;
WorkerPool::~WorkerPool() = default;

void WorkerPool::clear() { kept_.clear(); }

std::unique_ptr<WorkerPool::Kept> WorkerPool::take(const std::string& root) {
  const auto found = kept_.find(root);
  if (found == kept_.end()) return nullptr;
  auto worker = std::move(found->second);
  kept_.erase(found);
  worker->end_of_life.reset();
  worker->worker.unwatch();
  return worker;
}

void WorkerPool::keep(const bridge::CallContext& context, const std::string& root,
                      std::unique_ptr<Kept> worker) {
  const auto end = worker->born + kLongestLife;
  const bool spent = worker->questions >= kMostQuestions || std::chrono::steady_clock::now() >= end;
  if (spent || kept_.contains(root)) return;
  worker->end_of_life.emplace(context.executor, end, [this, root] { kept_.erase(root); });
  // One that dies meanwhile is not left as a zombie. By now another may be kept in its place.
  worker->worker.watch([this, root, one = worker.get()] {
    const auto found = kept_.find(root);
    if (found != kept_.end() && found->second.get() == one) kept_.erase(found);
  });
  kept_.emplace(root, std::move(worker));
}

asio::awaitable<Result<policy::Json>> WorkerPool::ask(bridge::CallContext context, const bridge::Parts& parts,
                                                      std::string root, policy::Json question) {
  if (auto worker = take(root)) {
    auto answer = co_await ask_one(context, root, std::move(worker), question);
    // It may have died before the question came; a fresh one gets a fair chance, once.
    const bool died = !answer && answer.error().code == policy::codes::kGitFailed.name;
    if (!died || context.deadline.passed()) co_return answer;
  }
  WorkerOrder order{.root = root};
  RB_CO_TRY(auto started, co_await Worker::start(context, parts, std::move(order)));
  auto fresh = std::make_unique<Kept>(std::move(started));
  co_return co_await ask_one(context, std::move(root), std::move(fresh), std::move(question));
}

asio::awaitable<Result<policy::Json>> WorkerPool::ask_one(bridge::CallContext context, std::string root,
                                                          std::unique_ptr<Kept> worker,
                                                          policy::Json question) {
  ++worker->questions;
  auto answer = co_await worker->worker.ask(context, std::move(question));
  if (answer || !is_fault_of_worker(answer.error())) keep(context, root, std::move(worker));
  co_return answer;
}

}  // namespace repobridge::git
