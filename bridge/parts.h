// What the bridge is made of, built once by main() and handed to whoever needs it.
//
// Owns: everything. Outlives every call. Threads: the event loop's one, but for `hashing`, which only
// computes.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <string>
#include <vector>

#include "bridge/audit.h"
#include "bridge/commit_ledger.h"
#include "bridge/git/worker_pool.h"
#include "bridge/programs.h"
#include "bridge/runs/lease.h"
#include "bridge/runs/lease_queue.h"
#include "bridge/runs/registry.h"
#include "policy/call_rate.h"
#include "policy/policy.h"
#include "policy/secrets.h"

namespace repobridge::bridge {

struct Parts {
  policy::BridgePolicy policy;
  Programs programs;
  Audit audit;
  CommitLedger ledger;
  policy::Redactor redactor;
  runs::Generation generation;
  runs::Registry runs;
  policy::CallRate front_rate;
  policy::CallRate caller_rate;
  std::string config;          // the path of bridge.json
  std::string control_groups;  // where a run's own may be made; "" when nowhere
  // Leases whose writers are not proven gone: held as long as the bridge lives.
  std::vector<runs::Lease> poisoned;
  runs::LeaseQueue leases = {};
  git::WorkerPool workers = {};
  // Digests of pinned files, which may be large, are computed beside the event loop.
  boost::asio::thread_pool hashing{1};
};

}  // namespace repobridge::bridge
