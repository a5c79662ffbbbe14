#include "bridge/runs/tracked_run.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace repobridge::runs {

// Somebody who waits for the run to change; known to it for as long as this lives.
struct TrackedRun::Waiter {
  Waiter(TrackedRun& waited_for, const asio::any_io_executor& executor, platform::Deadline deadline)
      : run(&waited_for),
        timer(executor, deadline.at()),
        place(run->waiters_.insert(run->waiters_.end(), this)) {}
  Waiter(Waiter&&) = delete;
  Waiter& operator=(Waiter&&) = delete;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { run->waiters_.erase(place); }

  // Until the run changes or the deadline has come.
  asio::awaitable<void> wait() { (void)co_await timer.async_wait(asio::as_tuple(asio::use_awaitable)); }

  TrackedRun* run;
  asio::steady_timer timer;
  std::list<Waiter*>::iterator place;
};

TrackedRun::TrackedRun(RunFacts facts)
    : facts_(std::move(facts)), output_(std::make_shared<LiveOutput>([this] { wake(); })) {}

TrackedRun::~TrackedRun() = default;

std::chrono::milliseconds TrackedRun::duration() const {
  if (took_) return *took_;
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_);
}

asio::awaitable<bool> TrackedRun::wait_for_end(std::shared_ptr<TrackedRun> run,
                                               asio::any_io_executor executor, platform::Deadline deadline,
                                               std::stop_token give_up) {
  Waiter waiter(*run, executor, deadline);
  const std::stop_callback on_give_up(give_up, [&waiter] { waiter.timer.cancel(); });
  while (!run->outcome_ && !deadline.passed() && !give_up.stop_requested()) co_await waiter.wait();
  co_return run->outcome_.has_value();
}

asio::awaitable<void> TrackedRun::wait_for_more(std::shared_ptr<TrackedRun> run,
                                                asio::any_io_executor executor, std::size_t bytes,
                                                platform::Deadline deadline) {
  Waiter waiter(*run, executor, deadline);
  while (!run->outcome_ && run->output_->bytes() <= bytes && !deadline.passed()) co_await waiter.wait();
}

void TrackedRun::end(wire::Outcome outcome, std::chrono::milliseconds took) {
  if (outcome_) return;
  outcome_ = std::move(outcome);
  took_ = took;
  wake();
}

void TrackedRun::wake() {
  for (Waiter* waiter : waiters_) waiter->timer.cancel();
}

}  // namespace repobridge::runs
