#include "bridge/git/confinement.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "bridge/git/written_directories.h"
#include "platform/sandbox.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

using platform::Access;
using platform::Grant;
using platform::UniqueFd;

// An index of a million files, and blobs up to the limit for files.
constexpr platform::ResourceLimits kLimits{
    .processor_seconds = 60, .file_bytes = 1ULL << 30U, .descriptors = 512};

Failure unavailable() {
  return policy::refuse(
      policy::codes::kSandboxUnavailable,
      "this kernel cannot confine the process that reads the repository (Landlock and seccomp are "
      "needed); the administrator may waive it with REPOBRIDGE_ALLOW_UNSANDBOXED_GIT=true");
}

// Keeps the descriptors of grants open until the sandbox has taken them.
class Grants {
 public:
  void add(int descriptor, Access access) { grants_.push_back({.descriptor = descriptor, .access = access}); }

  void add(UniqueFd descriptor, Access access) {
    add(descriptor.get(), access);
    held_.push_back(std::move(descriptor));
  }

  // The user's own files may be links; what they lead to is what git reads.
  void add_file_of_user(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (fd.valid()) add(std::move(fd), Access::read);
  }

  [[nodiscard]] const std::vector<Grant>& list() const { return grants_; }

 private:
  std::vector<Grant> grants_;
  std::vector<UniqueFd> held_;
};

Result<void> add_written(const Repository& repository, const std::string& directory, Grants& grants) {
  RB_TRY(auto fd, platform::open_beneath(repository.git_directory(), directory, platform::OpenAs::directory));
  grants.add(std::move(fd), Access::write);
  return {};
}

}  // namespace

Result<void> confine(const Repository& repository, const UserConfig& user, Power power,
                     const std::string& scratch) {
  Grants grants;
  grants.add(repository.root(), Access::read);
  for (const auto& file : user.consulted_files()) grants.add_file_of_user(file);
  for (const auto& directory : written_directories(power))
    RB_CHECK(add_written(repository, directory, grants));
  if (!scratch.empty()) RB_CHECK(add_written(repository, scratch, grants));
  RB_CHECK(platform::limit_resources(kLimits));
  if (!platform::enter_sandbox(grants.list())) return unavailable();
  return {};
}

}  // namespace repobridge::git
