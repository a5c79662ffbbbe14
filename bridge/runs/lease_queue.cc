#include "bridge/runs/lease_queue.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stop_token>

#include "policy/codes.h"

namespace repobridge::runs {
namespace {

namespace codes = policy::codes;

// flock(2) tells nobody when a lock becomes free.
constexpr std::chrono::milliseconds kLookAgain{20};

bool may_pass(const Error& refusal) { return refusal.code == codes::kWorkdirBusy.name; }

}  // namespace

// A place in the line, given up when the wait ends, however it ends.
class LeaseQueue::Turn {
 public:
  Turn(std::map<platform::FileIdentity, Line>& lines, const platform::FileIdentity& root)
      : lines_(&lines), line_(lines.try_emplace(root).first) {
    line_->second.waiting.push_back(this);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    std::erase(line_->second.waiting, this);
    if (line_->second.waiting.empty()) lines_->erase(line_);
  }

  // Looks when it is the first of its line.
  Result<LockedWorkdir> look(const LeasePlace& place) {
    Line& line = line_->second;
    if (line.waiting.front() != this) return fail(line.last_refusal);
    auto locked = LockedWorkdir::lock(place);
    if (!locked) line.last_refusal = locked.error();
    return locked;
  }

 private:
  std::map<platform::FileIdentity, Line>* lines_;
  std::map<platform::FileIdentity, Line>::iterator line_;
};

asio::awaitable<Result<LockedWorkdir>> LeaseQueue::lock(bridge::CallContext context, LeasePlace place,
                                                        std::chrono::milliseconds limit) {
  const auto patience = platform::Deadline::after(limit);
  Turn turn(lines_, place.root);
  asio::steady_timer timer(context.executor);
  const std::stop_callback wake(context.stop, [&timer] { timer.cancel(); });
  for (;;) {
    auto locked = turn.look(place);
    if (locked || !may_pass(locked.error()) || patience.passed()) co_return locked;
    if (context.stop.stop_requested()) {
      co_return policy::refuse(codes::kCallCancelled,
                               "the call was given up while it waited for the workdir");
    }
    timer.expires_after(std::min(kLookAgain, patience.left()));
    (void)co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace repobridge::runs
