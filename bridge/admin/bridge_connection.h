// A question to a running bridge, as its administrator: one connection, one question, one answer.
//
// Promise: blocks until the answer is there. Errors: BRIDGE_UNAVAILABLE when no bridge runs on the
// configuration's state directory, POLICY_OUT_OF_DATE, and what the bridge answers with.
// Source: bridge/administer.h.
#pragma once

#include <string>

#include "platform/result.h"
#include "policy/json.h"
#include "policy/policy.h"

namespace repobridge::admin {

Result<policy::Json> ask_bridge(const policy::BridgePolicy& policy, const std::string& question,
                                policy::Json arguments);

}  // namespace repobridge::admin
