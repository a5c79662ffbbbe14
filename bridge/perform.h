// One call, from what a front sent to the answer it gets: the pipeline that the design describes.
//
//   rate → parse → decide → audit begins → inspect | write → redact → bound → audit ends → answer
//
// Promise: nothing happens before its begin stands in the audit, nothing is written without the lease, and no
// answer leaves unredacted or unbounded. The answer is always one: an envelope or an error.
// Errors: TOO_MANY_CALLS, and whatever the call comes to.
#pragma once

#include <stop_token>

#include "bridge/admitted_call.h"
#include "bridge/parts.h"
#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/message.h"

namespace repobridge::bridge {

asio::awaitable<wire::Outcome> perform(asio::any_io_executor executor, Parts& parts, std::string front_name,
                                       wire::Request request, std::stop_token stop, OnRun on_run);

}  // namespace repobridge::bridge
