// What the administrator's own command may ask of a running bridge, over the same doorway as a front but with
// a key of its own (bridge/administrator_key.h).
//
// Promise: nothing here is reachable with a front's key. Questions (tool → arguments): `runs list` {}, `runs
// show` {run_id, out_from, err_from, wait_seconds}, `runs cancel` {run_id}. What a run printed is answered as
// it came, unredacted; the command escapes it. A cancel stands in the audit. Errors: INVALID_REQUEST,
// RUN_NOT_FOUND. Source: docs/PROTOCOL.md section 6.
#pragma once

#include "bridge/parts.h"
#include "bridge/wire/asio_fwd.h"
#include "bridge/wire/message.h"

namespace repobridge::bridge {

asio::awaitable<wire::Outcome> administer(asio::any_io_executor executor, Parts& parts,
                                          wire::Request request);

}  // namespace repobridge::bridge
