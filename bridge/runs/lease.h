// The writer lease: one writer per workdir, whoever it is.
//
// Promise: lock() never waits (lease_queue.h does). It takes the workdir's lock file, named after the root's
// device and inode, so that every configuration of this user means the same lock. begin() makes a record
// beside it, durable before it returns. release() clears the record and gives the lock up, and is called only
// when everything the writer started is proven gone. A Lease that goes without release() leaves its record,
// which says what a later start must know. The lock's descriptor is passed on to the helpers that work under
// the lease, so the lock is free only when the bridge and all of them have ended. Functions that write take a
// `const Lease&`. Another program takes part by locking the file with flock(2); it is then shown as holder
// `external`. A record of a writer that lives and locked another file means that the file was replaced under
// it: the workdir is as busy as before. Owns: the lock and the record. Threads: one. Errors: WORKDIR_BUSY
// (details.holder), WORKDIR_RECOVERY_REQUIRED (details.holder), WORKDIR_LOCK_UNUSABLE.
// Source: docs/ARCHITECTURE.md, "The writer lease".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platform/file_lock.h"
#include "platform/files.h"
#include "platform/process_identity.h"
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

// The tool of a writer that is the administrator's own command.
inline constexpr std::string_view kLeaseExec = "lease exec";

policy::Json to_json(const Holder& holder);
// Stands in the environment of everything that a run of the holder's starts, so that it is found again when
// its supervisor is lost. A child can take it away; it proves nothing.
std::string environment_entry(const Holder& holder);
// The name of the control group that a run of the holder's gets, where it gets one.
std::string control_group_name(const Holder& holder);

// Where a workdir's lock and record stand.
struct LeasePlace {
  platform::FileIdentity root;
  std::string lock_path;
  std::string record_path;
  static LeasePlace of(const std::string& lock_dir, const platform::FileIdentity& root);
};

// One life of the bridge.
struct Generation {
  std::string id;
  std::string boot;  // of the machine
  platform::ProcessIdentity process;
  static Result<Generation> begin();
};

// What a record says: lines of JSON, of which the first is the writer's own and the rest tell what it did.
// What no line tells was not begun, since a line is written before what it tells of.
//
//   {"version", "generation", "boot", "bridge", "lock", "tool", "action", "since", "run_id"}
//   {"git": {…}}                              what of ours may stand in .git from now on; durable
//   {"run": {"pid", "started", "receipt_sha256", "control_group"?: {"path", "confined"}}}
//                                                   by repobridge-run, before it starts anything
//   {"drained": "RECEIPT"}                          by repobridge-run, with proof that nothing is left. Only
//   it
//                                                   knows the receipt, since nobody can read its memory
//   {"unproven": true}                              by the bridge: that proof is not enough
struct RunGroup {
  std::string path;
  bool confined = false;  // its processes can write to no control group, so they cannot leave
};

struct Record {
  Holder holder;
  std::string generation;
  std::string boot;
  platform::ProcessIdentity bridge;
  std::uint64_t lock = 0;                               // inode of the locked file; 0: not said
  policy::Json git;                                     // null: nothing
  std::optional<platform::ProcessIdentity> supervisor;  // of the last run
  std::optional<RunGroup> control_group;                // of the last run
  bool runs_drained = true;
  bool unproven = false;

  // Whether everything that the writer started is known to have ended, once the lock is free.
  [[nodiscard]] bool proven_gone(const std::string& boot_now) const {
    return boot != boot_now || (runs_drained && !unproven);
  }
};

// nullopt: there is none, or one that was not finished, before which nothing began. An unreadable record is
// an error: something else wrote it.
Result<std::optional<Record>> read_record(const LeasePlace& place);

class Lease;

// The lock alone, with what an earlier writer left. Nothing may be written yet.
class LockedWorkdir {
 public:
  static Result<LockedWorkdir> lock(LeasePlace place);

  // The record of a writer that ended without release(). It must be settled before begin(). An error: it
  // cannot be read.
  [[nodiscard]] const Result<std::optional<Record>>& leftover() const { return leftover_; }
  // The leftover is known to be harmless, or the administrator says so: the record goes.
  Result<void> settle();

  Result<Lease> begin(Holder holder, const Generation& generation) &&;

 private:
  LockedWorkdir(platform::FileLock lock, LeasePlace place)
      : lock_(std::move(lock)), place_(std::move(place)) {}
  platform::FileLock lock_;
  LeasePlace place_;
  Result<std::optional<Record>> leftover_;
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
  // For helpers that must keep the lock while they live, and write lines of their own.
  [[nodiscard]] int lock() const { return lock_->descriptor(); }
  [[nodiscard]] int record() const { return record_.get(); }

  // Durable before it returns.
  [[nodiscard]] Result<void> note_git(policy::Json git) const;
  // From now on only the administrator clears the record.
  [[nodiscard]] Result<void> note_unproven() const;

  // An error means that the record could not be removed: the workdir will ask for recovery.
  Result<void> release() &&;

 private:
  friend class LockedWorkdir;
  Lease(platform::FileLock lock, LeasePlace place, Holder holder, platform::UniqueFd record)
      : lock_(std::move(lock)),
        place_(std::move(place)),
        holder_(std::move(holder)),
        record_(std::move(record)) {}
  [[nodiscard]] Result<void> append(const policy::Json& line) const;
  std::optional<platform::FileLock> lock_;
  LeasePlace place_;
  Holder holder_;
  platform::UniqueFd record_;
};

// What a workdir answers while what its last writer left is not settled.
Failure recovery_required(const Holder& holder);
Failure recovery_required(const std::optional<Record>& leftover);

}  // namespace repobridge::runs
