#include "bridge/runs/lease.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "platform/process_identity.h"
#include "policy/codes.h"

namespace repobridge::runs {
namespace {

namespace codes = policy::codes;
using policy::Json;

constexpr std::size_t kMaxGuardBytes = 65536;
constexpr int kGuardVersion = 1;

Failure busy(Json holder) {
  return policy::refuse(
      codes::kWorkdirBusy,
      "another writer is at work in the workdir (details.holder); call again when it has ended",
      Json{{"holder", std::move(holder)}});
}

Failure recovery_required_for(Json holder) {
  return policy::refuse(
      codes::kWorkdirRecoveryRequired,
      "an earlier writer (details.holder) did not end cleanly, and nothing proves that it is gone; "
      "the administrator looks at it with `repobridge lease recover`",
      Json{{"holder", std::move(holder)}});
}

Result<Guard> parse_guard(std::string_view text) {
  const auto value = policy::parse_json(text);
  if (!value) return policy::refuse(codes::kInternalError, "a guard record is not JSON");
  RB_TRY(auto fields, policy::Fields::of(*value, "", codes::kInternalError));
  RB_CHECK(fields.number("version", kGuardVersion, kGuardVersion).map([](auto) {}));
  Guard guard;
  RB_TRY(guard.generation, fields.text("generation"));
  RB_TRY(guard.boot, fields.text("boot"));
  RB_TRY(guard.holder.tool, fields.text("tool"));
  RB_TRY(guard.holder.action, fields.text("action"));
  RB_TRY(guard.holder.since, fields.text("since"));
  RB_TRY(guard.holder.run_id, fields.text("run_id"));
  RB_CHECK(fields.nothing_else());
  return guard;
}

std::string guard_text(const Holder& holder, const std::string& generation, const std::string& boot) {
  return policy::dump_json(Json{{"version", kGuardVersion},
                                {"generation", generation},
                                {"boot", boot},
                                {"tool", holder.tool},
                                {"action", holder.action},
                                {"since", holder.since},
                                {"run_id", holder.run_id}}) +
         "\n";
}

// Who holds a lock that we did not get. A record may be older than the lock or not there yet.
Json holder_of(const LeasePlace& place) {
  const auto guard = read_guard(place);
  if (guard && *guard) return to_json((*guard)->holder);
  return Json{{"tool", "external"}, {"action", nullptr}, {"since", nullptr}, {"run_id", nullptr}};
}

}  // namespace

Json to_json(const Holder& holder) {
  return Json{{"tool", holder.tool},
              {"action", holder.action.empty() ? Json() : Json(holder.action)},
              {"since", holder.since},
              {"run_id", holder.run_id}};
}

std::string name_of(const platform::FileIdentity& root) {
  std::array<char, 64> name{};
  (void)std::snprintf(name.data(), name.size(), "%llx-%llx", static_cast<unsigned long long>(root.device),
                      static_cast<unsigned long long>(root.inode));
  return name.data();
}

LeasePlace LeasePlace::of(const std::string& lock_dir, const platform::FileIdentity& root) {
  const std::string stem = lock_dir + "/" + name_of(root);
  return LeasePlace{.root = root, .lock_path = stem + ".lock", .guard_path = stem + ".guard"};
}

Result<std::optional<Guard>> read_guard(const LeasePlace& place) {
  const auto slash = place.guard_path.rfind('/');
  RB_TRY(const auto directory, platform::open_directory(place.guard_path.substr(0, slash)));
  RB_TRY(const auto text, platform::read_beneath_if_present(
                              directory.get(), place.guard_path.substr(slash + 1), kMaxGuardBytes));
  if (!text) return std::nullopt;
  RB_TRY(auto guard, parse_guard(*text));
  return std::optional<Guard>(std::move(guard));
}

Failure recovery_required(const Holder& holder) { return recovery_required_for(to_json(holder)); }

Result<LockedWorkdir> LockedWorkdir::lock(LeasePlace place) {
  auto lock = platform::FileLock::try_lock(place.lock_path);
  if (!lock && lock.error().kind == Kind::busy) return busy(holder_of(place));
  if (!lock) return fail(std::move(lock).error());
  LockedWorkdir locked(*std::move(lock), std::move(place));
  auto leftover = read_guard(locked.place_);
  if (!leftover) return recovery_required_for(nullptr);
  locked.leftover_ = *std::move(leftover);
  return locked;
}

Result<void> LockedWorkdir::settle() {
  if (::unlink(place_.guard_path.c_str()) != 0) return os_failure("clear a guard record", errno);
  leftover_.reset();
  return {};
}

Result<Lease> LockedWorkdir::begin(Holder holder, const std::string& generation) && {
  if (leftover_) return recovery_required(leftover_->holder);
  RB_TRY(const auto boot, platform::boot_id());
  RB_CHECK(platform::create_file(place_.guard_path, guard_text(holder, generation, boot), S_IRUSR | S_IWUSR));
  return Lease(std::move(lock_), std::move(place_), std::move(holder));
}

Result<void> Lease::release() && {
  if (::unlink(place_.guard_path.c_str()) != 0) return os_failure("clear a guard record", errno);
  lock_.reset();
  return {};
}

}  // namespace repobridge::runs
