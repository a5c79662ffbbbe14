#include "bridge/git/transport.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "bridge/git/local_config.h"
#include "platform/random.h"
#include "policy/repo_path.h"

namespace repobridge::git {
namespace {

constexpr mode_t kPrivateFile = S_IRUSR | S_IWUSR;
constexpr std::size_t kMaxSshLogBytes = 65536;

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

Result<Transport> Transport::make(const std::string& state_dir, Origin origin) {
  RB_CHECK(platform::make_private_directory(home_of_transports(state_dir)));
  RB_TRY(const auto token, platform::random_hex(8));
  Transport transport;
  transport.directory_ = Directory(home_of_transports(state_dir) + "/" + token);
  transport.url_ = std::move(origin.url);
  const std::string& at = transport.directory();
  RB_CHECK(make_directories(at));
  RB_CHECK(platform::create_file(at + "/HEAD", "ref: " + origin.reference + "\n", kPrivateFile));
  RB_CHECK(transport.write_config());
  RB_CHECK(chain_alternates(at, origin.root + "/.git/objects"));
  if (origin.shallow.is_string()) {
    RB_CHECK(platform::create_file(at + "/shallow", origin.shallow.get<std::string>(), kPrivateFile));
  }
  RB_TRY(transport.descriptor_, platform::open_directory(at));
  return transport;
}

Result<void> Transport::include(std::vector<std::string> files) {
  includes_ = std::move(files);
  return write_config();
}

Result<void> Transport::settle_on(std::string url) {
  settled_on_ = std::move(url);
  return write_config();
}

Result<void> Transport::write_config() const {
  std::string text = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogallrefupdates = false\n" +
                     config_text({.key = std::string("remote.") + kRemote + ".url", .value = url_});
  for (const auto& file : includes_) text += config_text({.key = "include.path", .value = file});
  if (settled_on_) {
    // The longest rule counts, and git applies one.
    text += config_text({.key = "url." + *settled_on_ + ".insteadof", .value = url_});
    text += config_text({.key = "url." + *settled_on_ + ".pushinsteadof", .value = url_});
    // A redirect would lead away from here. A rule of the user's for a part of this URL does not count then.
    if (settled_on_->starts_with("https://")) {
      text += config_text({.key = "http." + *settled_on_ + ".followredirects", .value = "false"});
    }
  }
  return platform::publish_file(directory() + "/config", text, kPrivateFile);
}

std::string Transport::take_ssh_log() const {
  const auto text = platform::read_beneath_if_present(descriptor(), kSshLog, kMaxSshLogBytes);
  (void)::unlinkat(descriptor(), kSshLog, 0);
  return text ? text->value_or("") : "";
}

Transport::Directory::Directory(Directory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Transport::Directory& Transport::Directory::operator=(Directory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

Transport::Directory::~Directory() {
  if (!path_.empty()) platform::remove_tree(path_);
}

std::vector<std::string> Transport::git_command(const std::string& git, const std::string& directory) {
  std::vector<std::string> argv{git, "--git-dir=" + directory};
  for (const char* setting :
       {"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.alternateRefsCommand=false",
        "core.askPass=", "push.followTags=false", "push.gpgSign=false", "push.recurseSubmodules=no",
        "push.default=nothing", "push.pushOption=", "push.negotiate=false", "gc.auto=0",
        "maintenance.auto=false", "credential.interactive=false", "protocol.version=2",
        "submodule.recurse=false", "color.ui=false", "advice.pushUpdateRejected=false",
        "http.followRedirects=false"}) {
    argv.insert(argv.end(), {"-c", setting});
  }
  return argv;
}

void Transport::remove_leftovers(const std::string& state_dir) {
  platform::remove_tree(home_of_transports(state_dir));
}

}  // namespace repobridge::git
