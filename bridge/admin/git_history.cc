#include "bridge/admin/git_history.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>

#include "bridge/environment.h"
#include "bridge/git/worker_protocol.h"
#include "bridge/wire/frame.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

using policy::Json;

constexpr timeval kLongestWait{.tv_sec = 120, .tv_usec = 0};
constexpr std::size_t kMaxPatchBytes = 100000;

Failure failed() {
  return policy::refuse(policy::codes::kGitFailed, "the process that reads the repository gave no answer");
}

Result<std::string> worker_program() {
  RB_TRY(const auto self, platform::canonical_path("/proc/self/exe"));
  return self.substr(0, self.rfind('/')) + "/repobridge-git";
}

// Without the signal that a worker which ended would cost us.
Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return failed();
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

}  // namespace

Result<GitHistory> GitHistory::open(const std::string& root, bool sandbox_waived) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os_failure("make a socket pair", errno);
  }
  platform::UniqueFd ours(ends[0]);
  const platform::UniqueFd theirs(ends[1]);
  (void)::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &kLongestWait, sizeof kLongestWait);
  platform::SpawnRequest request{
      .argv = {"repobridge-git"}, .environment = bridge::git_worker_environment(), .passed = {theirs.get()}};
  RB_TRY(request.program, worker_program());
  auto worker = platform::ChildProcess::spawn(request);
  if (!worker) return failed();
  GitHistory history(*std::move(worker), std::move(ours));
  RB_CHECK(
      history.ask({{"root", root}, {"power", "look"}, {"scratch", ""}, {"sandbox_waived", sandbox_waived}})
          .map([](const Json&) {}));
  return history;
}

Result<Json> GitHistory::since_pinned(const policy::RepoPath& path, const std::string& digest) {
  return ask({{"op", "since_pinned"},
              {"path", path.text()},
              {"digest", digest},
              {"max_patch_bytes", kMaxPatchBytes}});
}

Result<Json> GitHistory::ask(const Json& question) {
  RB_CHECK(send_all(socket_.get(), wire::frame_of(policy::dump_json(question))));
  const auto body = wire::read_frame(socket_.get(), git::kMaxWorkerFrameBytes);
  if (!body || !*body) return failed();
  const auto answer = policy::parse_json(**body);
  return answer ? git::decode_answer(*answer) : failed();
}

}  // namespace repobridge::admin
