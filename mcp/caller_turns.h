// Whose call is carried out when a caller has more of them than may be at work: first come, first served.
//
// Promise: never more turns of one login have begun than may be at once; one that ends, whether it had begun
// or not, lets the next of its login begin. No login waits for another. Owns: nothing of a call. A turn may
// outlive the CallerTurns that gave it. Threads: one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace repobridge::mcp {

class CallerTurns {
 public:
  class Turn;

  explicit CallerTurns(std::size_t at_once);
  // Begun already, or `wake` is called when it begins; not after the turn's end.
  std::shared_ptr<Turn> take(const std::string& login, std::function<void()> wake);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class CallerTurns::Turn {
 public:
  Turn(std::shared_ptr<State> state, std::string login, std::function<void()> wake);
  Turn(Turn&&) = delete;
  Turn& operator=(Turn&&) = delete;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();

  [[nodiscard]] bool begun() const { return begun_; }

 private:
  void begin();

  std::shared_ptr<State> state_;
  std::string login_;
  std::function<void()> wake_;
  bool begun_ = false;
};

}  // namespace repobridge::mcp
