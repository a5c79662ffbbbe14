// One connection: handshake, hello, one call, its answer.
//
// Promise: nothing is read as a request before both proofs and a hello of the same policy. While the call is
// at work the front gets a sign of life every few seconds and may send a cancel. A lost connection gives no
// call up: a writer goes on to its own limits.
#pragma once

#include <stop_token>

#include "bridge/parts.h"
#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/key.h"
#include "platform/unique_fd.h"

namespace repobridge::bridge {

// `shutdown`: the bridge ends; the call is given up.
asio::awaitable<void> serve_connection(asio::any_io_executor executor, Parts& parts,
                                       platform::UniqueFd connected,
                                       std::shared_ptr<const wire::KeyRing> keys, std::stop_token shutdown);

}  // namespace repobridge::bridge
