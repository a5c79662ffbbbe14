// One call, from what a front sent to the answer it gets: the pipeline that the design describes.
//
//   parse → decide → audit begins → lease (writers) → do → redact → bound → audit ends → answer
//
// Promise: nothing happens before its begin stands in the audit, nothing is written without the lease, and no
// answer leaves unredacted or unbounded. The answer is always one: an envelope or an error.
#pragma once

#include <stop_token>

#include "bridge/context.h"
#include "bridge/parts.h"
#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/message.h"

namespace repobridge::bridge {

asio::awaitable<wire::Outcome> perform(asio::any_io_executor executor, Parts& parts, std::string front_name,
                                       wire::Request request, std::stop_token stop);

wire::Outcome outcome_of(const Error& error);

}  // namespace repobridge::bridge
