#include "bridge/git/transport.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "platform/random.h"
#include "policy/repo_path.h"

namespace repobridge::git {
namespace {

constexpr mode_t kPrivateFile = S_IRUSR | S_IWUSR;

std::string home_of_transports(const std::string& state_dir) { return state_dir + "/transport"; }

// As a line of an alternates file: quoted where git would read the plain path as something else.
std::string alternates_line(const std::string& objects) {
  const bool plain = objects.find('\n') == std::string::npos && objects.find('"') == std::string::npos;
  return (plain ? objects : policy::c_quoted(objects)) + "\n";
}

// How deep git follows alternates.
constexpr int kMostAlternates = 5;

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return os_failure("make a transport repository", errno);
  return {};
}

Result<void> make_directories(const std::string& directory) {
  for (const char* name :
       {"", "/objects", "/objects/info", "/objects/pack", "/refs", "/refs/heads", "/info"}) {
    RB_CHECK(make_directory(directory + name));
  }
  return {};
}

// objects → empty-1 → … → empty-5 → the workdir's objects.
Result<void> chain_alternates(const std::string& directory, const std::string& objects) {
  std::string from = directory + "/objects";
  for (int i = 1; i <= kMostAlternates; ++i) {
    const std::string empty = directory + "/empty-" + std::to_string(i);
    RB_CHECK(make_directory(empty));
    RB_CHECK(make_directory(empty + "/info"));
    RB_CHECK(platform::create_file(from + "/info/alternates", alternates_line(empty), kPrivateFile));
    from = empty;
  }
  return platform::create_file(from + "/info/alternates", alternates_line(objects), kPrivateFile);
}

}  // namespace

Result<Transport> Transport::make(const std::string& state_dir, const std::string& root,
                                  const policy::Json& shallow) {
  RB_CHECK(platform::make_private_directory(home_of_transports(state_dir)));
  RB_TRY(const auto token, platform::random_hex(8));
  Transport transport;
  transport.directory_ = home_of_transports(state_dir) + "/" + token;
  const std::string& at = transport.directory_;
  RB_CHECK(make_directories(at));
  RB_CHECK(platform::create_file(at + "/HEAD", "ref: refs/heads/none\n", kPrivateFile));
  RB_CHECK(platform::create_file(
      at + "/config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogallrefupdates = false\n",
      kPrivateFile));
  RB_CHECK(chain_alternates(at, root + "/.git/objects"));
  if (shallow.is_string()) {
    RB_CHECK(platform::create_file(at + "/shallow", shallow.get<std::string>(), kPrivateFile));
  }
  RB_TRY(transport.descriptor_, platform::open_directory(at));
  return transport;
}

Transport::Transport(Transport&& other) noexcept
    : directory_(std::exchange(other.directory_, {})), descriptor_(std::move(other.descriptor_)) {}

Transport& Transport::operator=(Transport&& other) noexcept {
  std::swap(directory_, other.directory_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Transport::~Transport() {
  if (!directory_.empty()) platform::remove_tree(directory_);
}

std::vector<std::string> Transport::git_command(const std::string& git, const std::string& directory) {
  std::vector<std::string> argv{git, "--git-dir=" + directory};
  for (const char* setting :
       {"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.alternateRefsCommand=false",
        "core.askPass=", "push.followTags=false", "push.gpgSign=false", "push.recurseSubmodules=no",
        "push.default=nothing", "push.pushOption=", "gc.auto=0", "maintenance.auto=false",
        "credential.interactive=false", "protocol.version=2", "submodule.recurse=false", "color.ui=false",
        "advice.pushUpdateRejected=false",
        // A redirect would lead away from the URL that was allowed.
        "http.followRedirects=false"}) {
    argv.insert(argv.end(), {"-c", setting});
  }
  return argv;
}

void Transport::remove_leftovers(const std::string& state_dir) {
  platform::remove_tree(home_of_transports(state_dir));
}

}  // namespace repobridge::git
