#include "bridge/git/repository_guard.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "platform/random.h"
#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using platform::OpenAs;
using policy::Json;

constexpr const char* kHead = "HEAD";
constexpr const char* kIndex = "index";
constexpr std::string_view kReferences = "refs/";
constexpr std::string_view kLockSuffix = ".lock";
// In the scratch directory.
constexpr const char* kLockFile = "lock";
constexpr const char* kNewIndex = "index.new";
constexpr const char* kNewIndexLock = "index.new.lock";  // libgit2's, while it writes
constexpr const char* kOldIndex = "index.old";
constexpr const char* kNewReference = "reference.new";
// In the order in which they go: by the lock file a later try knows our locks.
constexpr std::array kScratchFiles = {kNewReference, kNewIndex, kNewIndexLock, kOldIndex, kLockFile};

// The worker names references, and it reads what anybody may have written.
bool is_reference(std::string_view name) {
  if (!name.starts_with(kReferences)) return false;
  return std::ranges::none_of(policy::split(name, '/'), [](const std::string& part) {
    return part.empty() || part.starts_with('.') || part.ends_with(kLockSuffix) ||
           part.find('\0') != std::string::npos;
  });
}

struct Split {
  std::string directory;  // "" for .git itself
  std::string name;
};

Split split_last(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {.directory = "", .name = path};
  return {.directory = path.substr(0, slash), .name = path.substr(slash + 1)};
}

Result<platform::UniqueFd> open_directory_in(int git_directory, const std::string& directory) {
  return platform::open_beneath(git_directory, directory.empty() ? "." : directory, OpenAs::directory);
}

// A branch that has only a packed value, or none yet, may lack its directories.
Result<platform::UniqueFd> make_directory_in(int git_directory, const std::string& directory) {
  RB_TRY(auto at, open_directory_in(git_directory, ""));
  if (directory.empty()) return at;
  for (const auto& part : policy::split(directory, '/')) {
    constexpr mode_t kAsUmaskSays = 0777;
    if (::mkdirat(at.get(), part.c_str(), kAsUmaskSays) != 0 && errno != EEXIST) {
      return os_failure("make a directory for a reference", errno);
    }
    RB_TRY(at, platform::open_beneath(at.get(), part, OpenAs::directory));
  }
  return at;
}

// null: it has gone meanwhile.
Json age_of(int directory, const std::string& lock) {
  const auto facts = platform::facts_at(directory, lock);
  if (!facts || !*facts) return nullptr;
  const auto since =
      std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds((*facts)->modified_ns);
  return std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

Failure locked_by_another(const std::string& name, Json age_seconds) {
  const auto& code = name == kHead    ? codes::kHeadLocked
                     : name == kIndex ? codes::kIndexLocked
                                      : codes::kRefLocked;
  return policy::refuse(
      code,
      "another git command holds its lock in .git (details.lock); call again when it has "
      "ended. If none runs, the file was left by a crash: its owner removes it",
      Json{{"lock", name + std::string(kLockSuffix)}, {"age_seconds", std::move(age_seconds)}});
}

Failure bad_note() {
  return policy::refuse(codes::kInternalError,
                        "the record of a change in .git is not as this version writes it");
}

Json to_json(const platform::FileIdentity& identity) {
  return Json::array({identity.device, identity.inode});
}

}  // namespace

Result<RepositoryGuard> RepositoryGuard::open(const runs::Lease& lease, const std::string& root) {
  RB_TRY(const auto token, platform::random_hex(8));
  RepositoryGuard guard(&lease, root, "repobridge-" + token);
  RB_TRY(const auto root_directory, platform::open_directory(root));
  RB_TRY(guard.git_directory_, platform::open_beneath(root_directory.get(), ".git", OpenAs::directory));
  return guard;
}

Result<void> RepositoryGuard::prepare() {
  // Before anything of it exists, so that a start after a crash knows where to look.
  RB_CHECK(note());
  return make_scratch();
}

Result<void> RepositoryGuard::lock(std::vector<std::string> names) {
  names_ = std::move(names);
  RB_CHECK(note());
  for (const auto& name : names_) RB_CHECK(take(name));
  return {};
}

Result<void> RepositoryGuard::make_scratch() {
  if (::mkdirat(git_directory_.get(), scratch_name_.c_str(), S_IRWXU) != 0) {
    return os_failure("make a scratch directory in .git", errno);
  }
  RB_TRY(scratch_, platform::open_beneath(git_directory_.get(), scratch_name_, OpenAs::directory));
  platform::UniqueFd file(
      ::openat(scratch_.get(), kLockFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid()) return os_failure("make a lock file", errno);
  RB_TRY(const auto facts, platform::facts_of(file.get()));
  lock_file_ = facts.identity;
  return {};
}

Result<void> RepositoryGuard::take(const std::string& name) {
  const bool known = name == kHead || name == kIndex || is_reference(name);
  if (!known) return policy::refuse(codes::kInternalError, "the git worker named no lock of git's");
  auto [directory, last] = split_last(name);
  RB_TRY(auto parent, make_directory_in(git_directory_.get(), directory));
  Lock lock{.directory = std::move(parent), .name = last + std::string(kLockSuffix)};
  // A link is made whole or not at all, and fails when the name exists.
  if (::linkat(scratch_.get(), kLockFile, lock.directory.get(), lock.name.c_str(), 0) != 0) {
    if (errno != EEXIST) return os_failure("take git's lock", errno);
    return locked_by_another(name, age_of(lock.directory.get(), lock.name));
  }
  locks_.push_back(std::move(lock));
  return {};
}

std::string RepositoryGuard::index_path() const { return root_ + "/.git/" + scratch_name_ + "/" + kNewIndex; }

Result<void> RepositoryGuard::note() {
  Json git{{"scratch", scratch_name_}, {"names", names_}, {"publishing", publishing_}};
  if (new_index_) git["index"] = Json{{"new", to_json(*new_index_)}, {"had_old", had_index_}};
  return lease_->note_git(std::move(git));
}

Result<void> RepositoryGuard::publish(const std::string& reference, const std::string& oid) {
  if (!is_reference(reference) || std::ranges::find(names_, reference) == names_.end()) {
    return policy::refuse(codes::kInternalError, "the git worker named a reference that is not locked");
  }
  RB_CHECK(write_reference(oid));
  const bool with_index = std::ranges::find(names_, kIndex) != names_.end();
  if (with_index) RB_CHECK(exchange_index());
  const auto [directory, last] = split_last(reference);
  RB_TRY(const auto parent, open_directory_in(git_directory_.get(), directory));
  if (::renameat(scratch_.get(), kNewReference, parent.get(), last.c_str()) == 0) return {};
  return os_failure("move a reference", errno);
}

Result<void> RepositoryGuard::write_reference(const std::string& oid) {
  constexpr mode_t kAsUmaskSays = 0666;
  platform::UniqueFd file(
      ::openat(scratch_.get(), kNewReference, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kAsUmaskSays));
  if (!file.valid()) return os_failure("write a reference", errno);
  RB_CHECK(platform::write_all(file.get(), oid + "\n"));
  return platform::sync_file(file.get());
}

Result<void> RepositoryGuard::exchange_index() {
  RB_TRY(const auto old, platform::facts_at(git_directory_.get(), kIndex));
  had_index_ = old.has_value();
  RB_TRY(const auto fresh, platform::open_beneath(scratch_.get(), kNewIndex, OpenAs::readable));
  RB_TRY(const auto facts, platform::facts_of(fresh.get()));
  new_index_ = facts.identity;
  // The new index keeps what the old one lets others do.
  constexpr mode_t kPermissions = 0777;
  if (old && ::fchmod(fresh.get(), old->mode & kPermissions) != 0) {
    return os_failure("set the index's mode", errno);
  }
  RB_CHECK(platform::sync_file(fresh.get()));
  if (had_index_ && ::linkat(git_directory_.get(), kIndex, scratch_.get(), kOldIndex, 0) != 0) {
    return os_failure("keep the old index", errno);
  }
  publishing_ = true;
  RB_CHECK(note());
  if (::renameat(scratch_.get(), kNewIndex, git_directory_.get(), kIndex) != 0) {
    return os_failure("put the new index in place", errno);
  }
  // Before the reference: a power cut must not leave a branch whose index claims that all was reverted.
  return platform::sync_file(git_directory_.get());
}

// Whether the reference's new value is still here and not in its place.
Result<bool> RepositoryGuard::reference_waits() const {
  RB_TRY(const auto facts, platform::facts_at(scratch_.get(), kNewReference));
  return facts.has_value();
}

Result<void> RepositoryGuard::roll_back() {
  if (!publishing_ || !new_index_) return {};
  RB_TRY(const bool waits, reference_waits());
  if (!waits) return {};
  RB_TRY(const auto index, platform::facts_at(git_directory_.get(), kIndex));
  // Ours is not there: it never got there, or git has written another since.
  if (!index || index->identity != *new_index_) return {};
  const int undone = had_index_ ? ::renameat(scratch_.get(), kOldIndex, git_directory_.get(), kIndex)
                                : ::unlinkat(git_directory_.get(), kIndex, 0);
  if (undone != 0) return os_failure("bring the old index back", errno);
  return platform::sync_file(git_directory_.get());
}

Result<bool> RepositoryGuard::ours(const Lock& lock) const {
  RB_TRY(const auto facts, platform::facts_at(lock.directory.get(), lock.name));
  return facts && lock_file_ && facts->identity == *lock_file_;
}

Result<void> RepositoryGuard::drop(const Lock& lock) const {
  RB_TRY(const bool is_ours, ours(lock));
  if (is_ours && ::unlinkat(lock.directory.get(), lock.name.c_str(), 0) != 0) {
    return os_failure("let go of git's lock", errno);
  }
  // The reference's move too: the record of both may go now, and must not before they are durable.
  return platform::sync_file(lock.directory.get());
}

Result<void> RepositoryGuard::release() {
  if (!git_directory_.valid()) return {};
  if (scratch_.valid()) {
    RB_CHECK(roll_back());
    for (const auto& lock : locks_) RB_CHECK(drop(lock));
    locks_.clear();
    for (const char* name : kScratchFiles) {
      if (::unlinkat(scratch_.get(), name, 0) != 0 && errno != ENOENT) {
        return os_failure("empty the scratch directory in .git", errno);
      }
    }
  }
  if (::unlinkat(git_directory_.get(), scratch_name_.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return os_failure("remove the scratch directory in .git", errno);
  }
  git_directory_.reset();
  return {};
}

Result<void> RepositoryGuard::settle(int root, const Json& git) {
  if (git.is_null()) return {};
  RepositoryGuard guard(nullptr, "", "");
  RB_CHECK(guard.read_note(root, git));
  return guard.release();
}

Result<RepositoryGuard::Standing> RepositoryGuard::look(int root, const Json& git) {
  RepositoryGuard guard(nullptr, "", "");
  if (!git.is_null()) RB_CHECK(guard.read_note(root, git));
  Standing standing{.half_way = guard.scratch_.valid(), .foreign_locks = {}};
  auto git_directory = platform::open_beneath(root, ".git", OpenAs::directory);
  if (!git_directory) return standing;
  for (const char* name : {kHead, kIndex}) {
    RB_TRY(auto directory, open_directory_in(git_directory->get(), ""));
    const Lock lock{.directory = std::move(directory), .name = name + std::string(kLockSuffix)};
    RB_TRY(const auto facts, platform::facts_at(git_directory->get(), lock.name));
    RB_TRY(const bool is_ours, guard.ours(lock));
    if (facts && !is_ours) standing.foreign_locks.push_back(lock.name);
  }
  return standing;
}

Result<void> RepositoryGuard::read_note(int root, const Json& git) {
  RB_TRY(auto fields, policy::Fields::of(git, "", codes::kInternalError));
  RB_TRY(scratch_name_, fields.text("scratch"));
  RB_TRY(names_, fields.texts("names"));
  RB_TRY(publishing_, fields.flag("publishing", false));
  if (const Json* index = fields.any("index"); index != nullptr) {
    RB_TRY(auto inner, policy::Fields::of(*index, "index", codes::kInternalError));
    const auto numbers = index->value("new", std::vector<std::uint64_t>{});
    if (numbers.size() != 2) return bad_note();
    new_index_ = {.device = numbers[0], .inode = numbers[1]};
    RB_TRY(had_index_, inner.flag("had_old", false));
  }
  auto git_directory = platform::open_beneath(root, ".git", OpenAs::directory);
  if (!git_directory && platform::is_absent(git_directory.error())) return {};
  if (!git_directory) return fail(std::move(git_directory).error());
  auto scratch = platform::open_beneath(git_directory->get(), scratch_name_, OpenAs::directory);
  if (!scratch && platform::is_absent(scratch.error())) return {};  // and with it every lock of ours
  if (!scratch) return fail(std::move(scratch).error());
  scratch_ = *std::move(scratch);
  git_directory_ = *std::move(git_directory);
  RB_TRY(const auto lock_file, platform::facts_at(scratch_.get(), kLockFile));
  if (lock_file) lock_file_ = lock_file->identity;
  for (const auto& name : names_) {
    auto [directory, last] = split_last(name);
    auto parent = open_directory_in(git_directory_.get(), directory);
    if (!parent && platform::is_absent(parent.error())) continue;
    if (!parent) return fail(std::move(parent).error());
    locks_.push_back({.directory = *std::move(parent), .name = last + std::string(kLockSuffix)});
  }
  return {};
}

}  // namespace repobridge::git
