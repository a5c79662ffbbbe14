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
constexpr const char* kNewIndexLock = "index.new.lock";  // libgit2's, while it writes
constexpr const char* kOldIndex = "index.old";
constexpr int kJournalVersion = 1;
constexpr std::size_t kMaxJournalBytes = 65536;

}  // namespace

Result<CommitGuard> CommitGuard::lock(const std::string& root, std::string journal_path) {
  RB_TRY(const auto token, platform::random_hex(8));
  CommitGuard guard(root, std::move(journal_path), "repobridge-" + token);
  RB_TRY(const auto root_directory, platform::open_directory(root));
  RB_TRY(guard.git_directory_, platform::open_beneath(root_directory.get(), ".git", OpenAs::directory));
  // Before anything of it exists, so that a start after a crash knows where to look.
  RB_CHECK(guard.write_journal());
  RB_CHECK(guard.make_scratch());
  RB_CHECK(guard.take(kHeadLock, guard.head_locked_));
  RB_CHECK(guard.take(kIndexLock, guard.index_locked_));
  return guard;
}

Result<void> CommitGuard::make_scratch() {
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

Result<void> CommitGuard::write_journal() const {
  const policy::Json journal{{"version", kJournalVersion},
                             {"root", root_},
                             {"scratch", scratch_name_},
                             {"had_index", had_index_},
                             {"new_index", {new_index_.device, new_index_.inode}},
                             {"move", move_}};
  return platform::publish_file(journal_path_, policy::dump_json(journal) + "\n", S_IRUSR | S_IWUSR);
}

Result<void> CommitGuard::publish(const policy::Json& move) {
  RB_TRY(const auto index, platform::facts_at(git_directory_.get(), kIndex));
  had_index_ = index.has_value();
  RB_TRY(const auto fresh, platform::open_beneath(scratch_.get(), kNewIndex, OpenAs::readable));
  RB_TRY(const auto facts, platform::facts_of(fresh.get()));
  new_index_ = facts.identity;
  // The new index keeps what the old one lets others do.
  constexpr mode_t kPermissions = 0777;
  if (index && ::fchmod(fresh.get(), index->mode & kPermissions) != 0) {
    return os_failure("set the index's mode", errno);
  }
  RB_CHECK(platform::sync_file(fresh.get()));
  if (had_index_ && ::linkat(git_directory_.get(), kIndex, scratch_.get(), kOldIndex, 0) != 0) {
    return os_failure("keep the old index", errno);
  }
  move_ = move;
  RB_CHECK(write_journal());
  if (::renameat(scratch_.get(), kNewIndex, git_directory_.get(), kIndex) != 0) {
    return os_failure("put the new index in place", errno);
  }
  return platform::sync_file(git_directory_.get());
}

Result<void> CommitGuard::roll_back() {
  RB_TRY(const auto index, platform::facts_at(git_directory_.get(), kIndex));
  // Ours is not there: it never got there, or git has written another since.
  if (!index || index->identity != new_index_) return {};
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
  if (scratch_.valid()) {
    for (const char* name : {kLockFile, kNewIndex, kNewIndexLock, kOldIndex}) {
      gone = (::unlinkat(scratch_.get(), name, 0) == 0 || errno == ENOENT) && gone;
    }
    gone = ::unlinkat(git_directory_.get(), scratch_name_.c_str(), AT_REMOVEDIR) == 0 && gone;
  }
  if (gone) (void)::unlink(journal_path_.c_str());
  scratch_.reset();
  git_directory_.reset();
}

CommitGuard::~CommitGuard() { release(); }

Result<std::optional<CommitGuard>> CommitGuard::adopt(std::string journal_path) {
  const auto slash = journal_path.rfind('/');
  RB_TRY(const auto directory, platform::open_directory(journal_path.substr(0, slash)));
  RB_TRY(const auto text, platform::read_beneath_if_present(directory.get(), journal_path.substr(slash + 1),
                                                            kMaxJournalBytes));
  if (!text) return std::nullopt;
  const auto journal = policy::parse_json(*text);
  if (!journal) return policy::refuse(codes::kInternalError, "a commit's journal is not JSON");
  CommitGuard guard("", std::move(journal_path), "");
  RB_TRY(const bool present, guard.read_journal(*journal));
  if (present) return std::optional<CommitGuard>(std::move(guard));
  (void)::unlink(guard.journal_path_.c_str());
  return std::nullopt;
}

Result<bool> CommitGuard::read_journal(const policy::Json& journal) {
  RB_TRY(auto fields, policy::Fields::of(journal, "", codes::kInternalError));
  RB_CHECK(fields.number("version", kJournalVersion, kJournalVersion).map([](auto) {}));
  RB_TRY(root_, fields.text("root"));
  RB_TRY(scratch_name_, fields.text("scratch"));
  RB_TRY(had_index_, fields.flag("had_index", false));
  move_ = journal.value("move", policy::Json());
  const auto index = journal.value("new_index", std::vector<std::uint64_t>{});
  if (index.size() != 2) return fields.refuse_field("new_index", "must be two numbers");
  new_index_ = {.device = index[0], .inode = index[1]};
  RB_TRY(const auto root, platform::open_directory(root_));
  RB_TRY(auto git_directory, platform::open_beneath(root.get(), ".git", OpenAs::directory));
  auto scratch = platform::open_beneath(git_directory.get(), scratch_name_, OpenAs::directory);
  if (!scratch && platform::is_absent(scratch.error())) return false;
  if (!scratch) return fail(std::move(scratch).error());
  RB_TRY(const auto lock, platform::facts_at(scratch->get(), kLockFile));
  if (lock) lock_file_ = lock->identity;
  head_locked_ = index_locked_ = lock.has_value();
  scratch_ = *std::move(scratch);
  git_directory_ = std::move(git_directory);
  return true;
}

}  // namespace repobridge::git
