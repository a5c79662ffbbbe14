#include "bridge/git/commit_guard.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "platform/random.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using platform::OpenAs;

constexpr const char* kHeadLock = "HEAD.lock";
constexpr const char* kIndexLock = "index.lock";
constexpr const char* kIndex = "index";
constexpr const char* kLockFile = "lock";  // in the scratch directory
constexpr const char* kNewIndex = "index.new";
constexpr const char* kOldIndex = "index.old";

}  // namespace

Result<CommitGuard> CommitGuard::lock(const std::string& root, std::string journal_path) {
  RB_TRY(const auto token, platform::random_hex(8));
  CommitGuard guard(root, std::move(journal_path), "repobridge-" + token);
  RB_CHECK(guard.open_directories());
  // Before the first lock, so that a start after a crash knows where to look.
  RB_CHECK(guard.write_journal("locking", policy::Json::object()));
  RB_CHECK(guard.take(kHeadLock, guard.head_locked_));
  RB_CHECK(guard.take(kIndexLock, guard.index_locked_));
  return guard;
}

Result<void> CommitGuard::open_directories() {
  RB_TRY(const auto root, platform::open_directory(root_));
  RB_TRY(git_directory_, platform::open_beneath(root.get(), ".git", OpenAs::directory));
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

Result<void> CommitGuard::take(const char* lock_name, bool& taken) {
  // A link is made whole or not at all, and fails when the name exists.
  if (::linkat(scratch_.get(), kLockFile, git_directory_.get(), lock_name, 0) == 0) {
    taken = true;
    return {};
  }
  if (errno != EEXIST) return os_failure("take git's lock", errno);
  const bool head = lock_name == kHeadLock;
  return policy::refuse(
      head ? codes::kHeadLocked : codes::kIndexLocked,
      "another git command holds its lock in .git (details.lock); call again when it has ended. If "
      "none runs, the file was left by a crash: its owner removes it",
      policy::Json{{"lock", lock_name}});
}

std::string CommitGuard::index_path() const { return root_ + "/.git/" + scratch_name_ + "/" + kNewIndex; }

Result<void> CommitGuard::write_journal(const char* stage, const policy::Json& move) const {
  const policy::Json journal{{"version", 1},   {"root", root_},           {"scratch", scratch_name_},
                             {"stage", stage}, {"had_index", had_index_}, {"move", move}};
  return platform::publish_file(journal_path_, policy::dump_json(journal) + "\n", S_IRUSR | S_IWUSR);
}

Result<void> CommitGuard::publish(const policy::Json& move) {
  RB_TRY(const auto index, platform::facts_at(git_directory_.get(), kIndex));
  had_index_ = index.has_value();
  RB_TRY(const auto fresh, platform::open_beneath(scratch_.get(), kNewIndex, OpenAs::readable));
  // The new index keeps what the old one lets others do.
  constexpr mode_t kPermissions = 0777;
  if (index && ::fchmod(fresh.get(), index->mode & kPermissions) != 0) {
    return os_failure("set the index's mode", errno);
  }
  RB_CHECK(platform::sync_file(fresh.get()));
  if (had_index_ && ::linkat(git_directory_.get(), kIndex, scratch_.get(), kOldIndex, 0) != 0) {
    return os_failure("keep the old index", errno);
  }
  RB_CHECK(write_journal("publishing", move));
  if (::renameat(scratch_.get(), kNewIndex, git_directory_.get(), kIndex) != 0) {
    return os_failure("put the new index in place", errno);
  }
  return platform::sync_file(git_directory_.get());
}

Result<void> CommitGuard::roll_back() {
  const int undone = had_index_ ? ::renameat(scratch_.get(), kOldIndex, git_directory_.get(), kIndex)
                                : ::unlinkat(git_directory_.get(), kIndex, 0);
  if (undone != 0) return os_failure("bring the old index back", errno);
  return platform::sync_file(git_directory_.get());
}

void CommitGuard::drop(const char* lock_name) {
  const auto facts = platform::facts_at(git_directory_.get(), lock_name);
  const bool ours = facts && *facts && (*facts)->identity == lock_file_;
  if (ours) (void)::unlinkat(git_directory_.get(), lock_name, 0);
}

void CommitGuard::release() {
  if (!git_directory_.valid()) return;
  if (index_locked_) drop(kIndexLock);
  if (head_locked_) drop(kHeadLock);
  index_locked_ = head_locked_ = false;
  // What cannot be removed stays named in the journal, which then stays too.
  bool gone = true;
  for (const char* name : {kLockFile, kNewIndex, "index.new.lock", kOldIndex}) {
    gone = (::unlinkat(scratch_.get(), name, 0) == 0 || errno == ENOENT) && gone;
  }
  gone = ::unlinkat(git_directory_.get(), scratch_name_.c_str(), AT_REMOVEDIR) == 0 && gone;
  if (gone) (void)::unlink(journal_path_.c_str());
  scratch_.reset();
  git_directory_.reset();
}

CommitGuard::~CommitGuard() { release(); }

}  // namespace repobridge::git
