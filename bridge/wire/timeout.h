// Something to be done at a moment unless this object is gone by then.
//
// Promise: the action never runs after the destructor, not even when the timer had already fired and its
// handler was waiting its turn; that is why the state between the two is shared. Threads: the event loop's
// one.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "bridge/wire/asio_fwd.h"

namespace repobridge::wire {

class Timeout {
 public:
  Timeout(const asio::any_io_executor& executor, std::chrono::steady_clock::time_point at,
          std::function<void()> action)
      : timer_(executor, at), state_(std::make_shared<State>(State{.action = std::move(action)})) {
    timer_.async_wait([state = state_](const boost::system::error_code& ec) {
      if (ec || !state->action) return;
      state->fired = true;
      // Taken out first: what it does may end this very Timeout.
      const auto act = std::exchange(state->action, nullptr);
      act();
    });
  }
  Timeout(const Timeout&) = delete;
  Timeout& operator=(const Timeout&) = delete;
  ~Timeout() { state_->action = nullptr; }

  [[nodiscard]] bool fired() const { return state_->fired; }

 private:
  struct State {
    std::function<void()> action;
    bool fired = false;
  };
  asio::steady_timer timer_;
  std::shared_ptr<State> state_;
};

}  // namespace repobridge::wire
