// What an earlier life of the bridge left in the workdirs, looked after before this one is ready: our own
// locks in .git must not keep git waiting.
//
// Promise: waits for what an earlier life's helpers are still ending, within their own limits; a workdir in
// which another bridge is at work is passed over. What is not proven stays for the administrator. Owns:
// nothing.
#pragma once

#include "bridge/parts.h"
#include "bridge/wire/asio_fwd.h"

namespace repobridge::bridge {

asio::awaitable<void> recover_workdirs(asio::any_io_executor executor, const Parts& parts);

}  // namespace repobridge::bridge
