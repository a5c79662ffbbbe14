// A tool call on its way to the bridge, as the session sees it: started, heard of, perhaps cancelled, ended.
//
// Promise: `ended` is called exactly once, and neither handler from within the start itself. Threads: all of
// it on the main one.
#pragma once

#include <chrono>
#include <functional>

#include "bridge/wire/message.h"
#include "platform/result.h"

namespace repobridge::mcp {

struct CallHandlers {
  std::function<void(const wire::Progress&)> progress;
  std::function<void(Result<wire::Outcome>)> ended;
  std::chrono::milliseconds waited{0};  // of the time within which it must be answered
};

// Asks the bridge to end the call; may be called at any time, after the end too.
using CancelCall = std::function<void()>;

using StartCall = std::function<CancelCall(wire::Request, CallHandlers)>;

}  // namespace repobridge::mcp
