// A call that policy let through and whose begin stands in the audit.
//
// Promise: end() writes the other line, once, whatever the call came to.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "bridge/audit.h"
#include "bridge/parts.h"
#include "policy/decide.h"

namespace repobridge::bridge {

struct AdmittedCall {
  policy::Approved approved;
  const policy::Front* front;
  wire::Caller caller;
  Audit::Call record;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  // Its answer from what it came to, noted in the audit.
  wire::Outcome end(Parts& parts, Result<policy::Json> data) const;
};

// Hears of a run that the call waits for, whose output shows that something moves.
using OnRun = std::function<void(std::shared_ptr<const runs::LiveOutput>)>;

}  // namespace repobridge::bridge
