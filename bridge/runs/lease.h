// The writer lease: one writer per workdir, whoever it is.
//
// Promise: acquire() never waits. It takes the workdir's lock file (named after the root's device and inode,
// so that every configuration of this user means the same lock) and then publishes a guard record beside it,
// durable before acquire() returns. release() clears the record and gives the lock up, and is called only
// when everything the writer started is proven gone. A Lease that goes without release() leaves its record:
// the workdir then asks for recovery. Functions that write take a `const Lease&`. Another program takes part
// by locking the file with flock(2); it is then shown as holder `external`. Owns: the lock. Threads: one.
// Errors: WORKDIR_BUSY (details.holder), WORKDIR_RECOVERY_REQUIRED (details.holder).
// Source: docs/ARCHITECTURE.md, "The writer lease".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platform/file_lock.h"
#include "platform/files.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::runs {

// Who holds it and what for.
struct Holder {
  std::string tool;
  std::string action;  // "" for commit and push
  std::string since;   // RFC 3339, UTC
  std::string run_id;
};

policy::Json to_json(const Holder& holder);

// Where a workdir's lock and guard stand.
struct LeasePlace {
  std::string lock_path;
  std::string guard_path;
  static LeasePlace of(const std::string& lock_dir, const platform::FileIdentity& root);
};

// What a guard record says.
struct Guard {
  Holder holder;
  std::string generation;  // of the bridge that wrote it
  std::string boot;        // of the machine then
};

// nullopt: there is none. An unreadable record is an error: something wrote it.
Result<std::optional<Guard>> read_guard(const LeasePlace& place);

class Lease {
 public:
  static Result<Lease> acquire(LeasePlace place, Holder holder, const std::string& generation);
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() = default;

  [[nodiscard]] const Holder& holder() const { return holder_; }
  // An error means that the record could not be removed: the workdir will ask for recovery.
  Result<void> release() &&;

 private:
  Lease(platform::FileLock lock, LeasePlace place, Holder holder)
      : lock_(std::move(lock)), place_(std::move(place)), holder_(std::move(holder)) {}
  std::optional<platform::FileLock> lock_;
  LeasePlace place_;
  Holder holder_;
};

}  // namespace repobridge::runs
