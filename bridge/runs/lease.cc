#include "bridge/runs/lease.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "platform/digest.h"
#include "platform/random.h"
#include "policy/codes.h"

namespace repobridge::runs {
namespace {

namespace codes = policy::codes;
using platform::ProcessIdentity;
using policy::Fields;
using policy::Json;

constexpr std::size_t kMaxRecordBytes = 1U << 20U;
constexpr std::size_t kGenerationBytes = 8;
constexpr int kRecordVersion = 2;

Failure busy(Json holder) {
  return policy::refuse(
      codes::kWorkdirBusy,
      "another writer is at work in the workdir (details.holder); call again when it has ended. If it is a "
      "call of yours, inspect_repo view run tells how it goes",
      Json{{"holder", std::move(holder)}});
}

Failure recovery_required_for(Json holder) {
  return policy::refuse(
      codes::kWorkdirRecoveryRequired,
      "an earlier writer (details.holder) did not end cleanly, and nothing proves that it is gone; "
      "the administrator looks at it with `repobridge lease recover`",
      Json{{"holder", std::move(holder)}});
}

Failure unreadable() {
  return policy::refuse(codes::kInternalError,
                        "the record of a workdir's writer is not as this version writes it");
}

Json to_json(const ProcessIdentity& process) {
  return Json{{"pid", process.pid}, {"started", process.started}};
}

Result<ProcessIdentity> process_in(Fields& fields) {
  RB_TRY(const auto pid, fields.number("pid", 1, INT32_MAX));
  RB_TRY(const auto started, fields.number("started", 0, INT64_MAX));
  return ProcessIdentity{.pid = static_cast<pid_t>(pid), .started = static_cast<std::uint64_t>(started)};
}

Result<Fields> fields_of(const Json* value) {
  if (value == nullptr) return unreadable();
  return Fields::of(*value, "", codes::kInternalError);
}

std::string first_line(const Holder& holder, const Generation& generation, std::uint64_t lock) {
  return policy::dump_json(Json{{"version", kRecordVersion},
                                {"generation", generation.id},
                                {"boot", generation.boot},
                                {"bridge", to_json(generation.process)},
                                {"lock", lock},
                                {"tool", holder.tool},
                                {"action", holder.action},
                                {"since", holder.since},
                                {"run_id", holder.run_id}}) +
         "\n";
}

Result<Record> parse_first_line(const Json& line) {
  RB_TRY(auto fields, fields_of(&line));
  RB_CHECK(fields.number("version", kRecordVersion, kRecordVersion).map([](auto) {}));
  Record record;
  RB_TRY(record.generation, fields.text("generation"));
  RB_TRY(record.boot, fields.text("boot"));
  RB_TRY(auto bridge, fields_of(fields.any("bridge")));
  RB_TRY(record.bridge, process_in(bridge));
  RB_TRY(const auto lock, fields.number_or("lock", 0, 0, INT64_MAX));
  record.lock = static_cast<std::uint64_t>(lock);
  RB_TRY(record.holder.tool, fields.text("tool"));
  RB_TRY(record.holder.action, fields.text("action"));
  RB_TRY(record.holder.since, fields.text("since"));
  RB_TRY(record.holder.run_id, fields.text("run_id"));
  RB_CHECK(fields.nothing_else());
  return record;
}

// Reads the lines after the first.
class Reader {
 public:
  explicit Reader(Record record) : record_(std::move(record)) {}

  Result<void> take(const Json& line) {
    if (!line.is_object() || line.size() != 1) return unreadable();
    const std::string& what = line.begin().key();
    const Json& value = *line.begin();
    if (what == "git") return take_git(value);
    if (what == "run") return take_run(value);
    if (what == "drained") return take_receipt(value);
    if (what != "unproven") return unreadable();
    record_.unproven = true;
    return {};
  }

  Record finish() && { return std::move(record_); }

 private:
  Result<void> take_git(const Json& value) {
    record_.git = value;
    return {};
  }

  Result<void> take_run(const Json& value) {
    // One run at a time: a second that begins before the first has ended makes the first one's proof void.
    if (!record_.runs_drained) record_.unproven = true;
    RB_TRY(auto fields, fields_of(&value));
    RB_TRY(record_.supervisor, process_in(fields));
    RB_TRY(receipt_sha256_, fields.text("receipt_sha256"));
    record_.runs_drained = false;
    record_.control_group.reset();
    const Json* group = fields.any("control_group");
    return group == nullptr ? Result<void>() : take_control_group(*group);
  }

  // What stands there is going to be killed, so it must be the run's own.
  Result<void> take_control_group(const Json& value) {
    RB_TRY(auto fields, fields_of(&value));
    RunGroup group;
    RB_TRY(group.path, fields.text("path"));
    RB_TRY(group.confined, fields.flag("confined", false));
    if (!group.path.ends_with("/" + control_group_name(record_.holder))) return unreadable();
    record_.control_group = std::move(group);
    return {};
  }

  Result<void> take_receipt(const Json& value) {
    if (!value.is_string()) return unreadable();
    record_.runs_drained = platform::sha256_hex(value.get<std::string>()) == receipt_sha256_;
    if (!record_.runs_drained) record_.unproven = true;
    return {};
  }

  Record record_;
  std::string receipt_sha256_;
};

Result<std::optional<Record>> parse_record(std::string_view text) {
  std::optional<Reader> reader;
  // What stands after the last line's end was not written whole, so what it tells of was not begun.
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const auto line = policy::parse_json(text.substr(0, end));
    if (!line) return unreadable();
    text.remove_prefix(end + 1);
    if (reader) {
      RB_CHECK(reader->take(*line));
    } else {
      RB_TRY(auto record, parse_first_line(*line));
      reader.emplace(std::move(record));
    }
  }
  if (!reader) return std::nullopt;
  return std::optional<Record>(std::move(*reader).finish());
}

// Whether the record's writer, or the supervisor that ends what it started, may be the one with the lock.
bool may_hold(const Record& record) {
  return platform::may_be_alive(record.bridge) ||
         (record.supervisor && platform::may_be_alive(*record.supervisor));
}

// Who holds a lock that we did not get, and whether that will pass. A record may be older than the lock or
// not there yet.
Failure held(const LeasePlace& place) {
  const auto record = read_record(place);
  if (!record || !*record || !may_hold(**record)) {
    return busy(Json{{"tool", "external"}, {"action", nullptr}, {"since", nullptr}, {"run_id", nullptr}});
  }
  if ((*record)->unproven) return recovery_required(*record);
  return busy(to_json((*record)->holder));
}

// Whether a writer that is at work locked another file than we did.
bool locked_elsewhere(const Result<std::optional<Record>>& record, const platform::FileLock& lock) {
  return record && *record && (*record)->lock != 0 && (*record)->lock != lock.identity().inode &&
         may_hold(**record);
}

Failure unusable(const std::string& what) {
  return policy::refuse(codes::kWorkdirLockUnusable,
                        "the workdir's lock cannot be taken (" + what +
                            "); the administrator looks at it with `repobridge lease show`");
}

}  // namespace

Json to_json(const Holder& holder) {
  return Json{{"tool", holder.tool},
              {"action", holder.action.empty() ? Json() : Json(holder.action)},
              {"since", holder.since},
              {"run_id", holder.run_id}};
}

std::string environment_entry(const Holder& holder) { return "RB_RUN_ID=" + holder.run_id; }

std::string control_group_name(const Holder& holder) { return "repobridge-run-" + holder.run_id; }

LeasePlace LeasePlace::of(const std::string& lock_dir, const platform::FileIdentity& root) {
  std::array<char, 64> name{};
  (void)std::snprintf(name.data(), name.size(), "/%llx-%llx", static_cast<unsigned long long>(root.device),
                      static_cast<unsigned long long>(root.inode));
  const std::string stem = lock_dir + name.data();
  return LeasePlace{.root = root, .lock_path = stem + ".lock", .record_path = stem + ".guard"};
}

Result<Generation> Generation::begin() {
  Generation generation;
  RB_TRY(generation.id, platform::random_hex(kGenerationBytes));
  RB_TRY(generation.boot, platform::boot_id());
  RB_TRY(generation.process, platform::identity_of(::getpid()));
  return generation;
}

Result<std::optional<Record>> read_record(const LeasePlace& place) {
  const auto slash = place.record_path.rfind('/');
  RB_TRY(const auto directory, platform::open_directory(place.record_path.substr(0, slash)));
  RB_TRY(const auto text, platform::read_beneath_if_present(
                              directory.get(), place.record_path.substr(slash + 1), kMaxRecordBytes));
  if (!text) return std::nullopt;
  return parse_record(*text);
}

Failure recovery_required(const Holder& holder) { return recovery_required_for(to_json(holder)); }

Failure recovery_required(const std::optional<Record>& leftover) {
  return recovery_required_for(leftover ? to_json(leftover->holder) : Json());
}

Result<LockedWorkdir> LockedWorkdir::lock(LeasePlace place) {
  auto lock = platform::FileLock::try_lock(place.lock_path);
  if (!lock && lock.error().kind == Kind::busy) return held(place);
  if (!lock) return unusable(lock.error().message);
  LockedWorkdir locked(*std::move(lock), std::move(place));
  locked.leftover_ = read_record(locked.place_);
  if (locked_elsewhere(locked.leftover_, locked.lock_)) return held(locked.place_);
  return locked;
}

Result<void> LockedWorkdir::settle() {
  if (::unlink(place_.record_path.c_str()) != 0 && errno != ENOENT) {
    return os_failure("clear a writer's record", errno);
  }
  leftover_ = std::nullopt;
  return {};
}

Result<Lease> LockedWorkdir::begin(Holder holder, const Generation& generation) && {
  if (!leftover_) return recovery_required(std::nullopt);
  if (*leftover_) return recovery_required(*leftover_);
  if (!lock_.still_named()) return unusable("the lock file was replaced");
  RB_CHECK(settle());  // of one that was not finished
  const auto line = first_line(holder, generation, lock_.identity().inode);
  if (const auto made = platform::create_file(place_.record_path, line, S_IRUSR | S_IWUSR); !made) {
    return unusable("its record cannot be written: " + made.error().message);
  }
  // Who locked another file of that name after this finds the record.
  if (!lock_.still_named()) {
    RB_CHECK(settle());
    return unusable("the lock file was replaced");
  }
  RB_TRY(auto record, platform::open_to_append(place_.record_path));
  return Lease(std::move(lock_), std::move(place_), std::move(holder), std::move(record));
}

Result<void> Lease::append(const Json& line) const {
  RB_CHECK(platform::write_all(record_.get(), policy::dump_json(line) + "\n"));
  return platform::sync_file(record_.get());
}

Result<void> Lease::note_git(Json git) const { return append(Json{{"git", std::move(git)}}); }

Result<void> Lease::note_unproven() const { return append(Json{{"unproven", true}}); }

Result<void> Lease::release() && {
  if (::unlink(place_.record_path.c_str()) != 0) return os_failure("clear a writer's record", errno);
  record_.reset();
  lock_.reset();
  return {};
}

}  // namespace repobridge::runs
