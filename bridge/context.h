// What travels with a call through the bridge: when it must have ended, whether the caller gave it up, and
// the event loop it runs on.
#pragma once

#include <memory>
#include <stop_token>

#include "bridge/runs/live_output.h"
#include "bridge/wire/asio_fwd.h"
#include "platform/deadline.h"

namespace repobridge::bridge {

struct CallContext {
  asio::any_io_executor executor;
  platform::Deadline deadline;
  std::stop_token stop;
  std::shared_ptr<runs::LiveOutput> output;  // null: nobody follows what it prints
};

}  // namespace repobridge::bridge
