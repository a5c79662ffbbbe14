// What travels with a call through the bridge: when it must have ended, whether the caller gave it up, and
// the event loop it runs on.
#pragma once

#include <stop_token>

#include "bridge/wire/asio_fwd.h"
#include "platform/deadline.h"

namespace repobridge::bridge {

struct CallContext {
  asio::any_io_executor executor;
  platform::Deadline deadline;
  std::stop_token stop;
};

}  // namespace repobridge::bridge
