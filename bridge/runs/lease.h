// The writer lease: one writer per workdir, whoever it is.
//
// Promise: lock() never waits. It takes the workdir's lock file, named after the root's device and inode, so
// that every configuration of this user means the same lock. begin() publishes a guard record beside it,
// durable before it returns. release() clears the record and gives the lock up, and is called only when
// everything the writer started is proven gone. A Lease that goes without release() leaves its record: the
// workdir then asks for recovery. The lock's descriptor is passed on to the helpers that work under the
// lease, so the lock is free only when the bridge and all of them have ended. Functions that write take a
// `const Lease&`. Another program takes part by locking the file with flock(2); it is then shown as holder
// `external`. Owns: the lock. Threads: one. Errors: WORKDIR_BUSY (details.holder), WORKDIR_RECOVERY_REQUIRED
// (details.holder). Source: docs/ARCHITECTURE.md, "The writer lease".
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
  platform::FileIdentity root;
  std::string lock_path;
  std::string guard_path;
  static LeasePlace of(const std::string& lock_dir, const platform::FileIdentity& root);
};

// A root's device and inode, as file names of ours have them.
std::string name_of(const platform::FileIdentity& root);

// What a guard record says.
struct Guard {
  Holder holder;
  std::string generation;  // of the bridge that wrote it
  std::string boot;        // of the machine then
};

// nullopt: there is none. An unreadable record is an error: something wrote it.
Result<std::optional<Guard>> read_guard(const LeasePlace& place);

class Lease;

// The lock alone, with what an earlier writer left. Nothing may be written yet.
class LockedWorkdir {
 public:
  static Result<LockedWorkdir> lock(LeasePlace place);

  // The record of a writer that ended without release(). It must be settled before begin().
  [[nodiscard]] const std::optional<Guard>& leftover() const { return leftover_; }
  // The leftover is known to be harmless: its record goes.
  Result<void> settle();

  Result<Lease> begin(Holder holder, const std::string& generation) &&;

  // For helpers that must keep the lock while they live.
  [[nodiscard]] int descriptor() const { return lock_.descriptor(); }

 private:
  LockedWorkdir(platform::FileLock lock, LeasePlace place)
      : lock_(std::move(lock)), place_(std::move(place)) {}
  platform::FileLock lock_;
  LeasePlace place_;
  std::optional<Guard> leftover_;
};

class Lease {
 public:
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() = default;

  [[nodiscard]] const Holder& holder() const { return holder_; }
  [[nodiscard]] const platform::FileIdentity& root() const { return place_.root; }
  [[nodiscard]] int descriptor() const { return lock_->descriptor(); }
  // An error means that the record could not be removed: the workdir will ask for recovery.
  Result<void> release() &&;

 private:
  friend class LockedWorkdir;
  Lease(platform::FileLock lock, LeasePlace place, Holder holder)
      : lock_(std::move(lock)), place_(std::move(place)), holder_(std::move(holder)) {}
  std::optional<platform::FileLock> lock_;
  LeasePlace place_;
  Holder holder_;
};

// What a workdir answers while what its last writer left is not settled.
Failure recovery_required(const Holder& holder);

}  // namespace repobridge::runs
