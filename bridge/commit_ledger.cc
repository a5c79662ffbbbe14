#include "bridge/commit_ledger.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "platform/files.h"
#include "policy/text.h"

namespace repobridge::bridge {
namespace {

constexpr const char* kName = "commits.txt";
constexpr std::size_t kMaxBytes = 256U << 20U;
constexpr std::size_t kOidCharacters = 40;

}  // namespace

Result<CommitLedger> CommitLedger::open(const std::string& state_dir) {
  const std::string path = state_dir + "/" + kName;
  RB_CHECK(platform::check_publishable(path));
  platform::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid()) return os_failure("open the list of commits", errno);
  return CommitLedger(state_dir, std::move(file));
}

Result<void> CommitLedger::add(const std::string& oid) {
  RB_CHECK(platform::write_all(file_.get(), oid + "\n"));
  return platform::sync_file(file_.get());
}

Result<std::set<std::string>> CommitLedger::all() const {
  RB_TRY(const auto directory, platform::open_directory(state_dir_));
  RB_TRY(const auto text, platform::read_beneath_if_present(directory.get(), kName, kMaxBytes));
  std::set<std::string> commits;
  for (auto& line : policy::split(text.value_or(""), '\n')) {
    if (line.size() == kOidCharacters) commits.insert(std::move(line));
  }
  return commits;
}

}  // namespace repobridge::bridge
