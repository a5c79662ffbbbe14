#include "mcp/caller_turns.h"

#include <deque>
#include <map>
#include <utility>

namespace repobridge::mcp {

struct CallerTurns::State {
  struct Line {
    std::size_t begun = 0;
    std::deque<Turn*> waiting;  // only while as many have begun as may
  };

  std::size_t at_once = 0;
  std::map<std::string, Line> lines;  // of the logins that have a turn
};

CallerTurns::CallerTurns(std::size_t at_once) : state_(std::make_shared<State>(State{.at_once = at_once})) {}

std::shared_ptr<CallerTurns::Turn> CallerTurns::take(const std::string& login, std::function<void()> wake) {
  return std::make_shared<Turn>(state_, login, std::move(wake));
}

CallerTurns::Turn::Turn(std::shared_ptr<State> state, std::string login, std::function<void()> wake)
    : state_(std::move(state)), login_(std::move(login)), wake_(std::move(wake)) {
  auto& line = state_->lines[login_];
  if (line.begun < state_->at_once) {
    begin();
  } else {
    line.waiting.push_back(this);
  }
}

CallerTurns::Turn::~Turn() {
  const auto found = state_->lines.find(login_);
  auto& line = found->second;
  if (!begun_) {
    std::erase(line.waiting, this);
    return;
  }
  --line.begun;
  if (!line.waiting.empty()) {
    Turn* next = line.waiting.front();
    line.waiting.pop_front();
    next->begin();
    next->wake_();
  }
  if (line.begun == 0) state_->lines.erase(found);
}

void CallerTurns::Turn::begin() {
  begun_ = true;
  ++state_->lines[login_].begun;
}

}  // namespace repobridge::mcp
