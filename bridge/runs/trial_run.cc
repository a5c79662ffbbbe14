#include "bridge/runs/trial_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>

#include "bridge/runs/supervisor_protocol.h"
#include "platform/child_process.h"
#include "platform/deadline.h"
#include "platform/files.h"
#include "platform/packet.h"

namespace repobridge::runs {
namespace {

using platform::UniqueFd;

constexpr std::chrono::milliseconds kLimit{5000};
constexpr const char* kFrozenName = "absent";  // any would do

// What the supervisor says until it closes its end.
struct Said {
  std::optional<platform::Containment> held;
  std::optional<platform::RoomParts> room;
  bool frozen = false;
  bool drained = false;
};

Result<Said> listen(int control) {
  const auto deadline = platform::Deadline::after(kLimit);
  Said said;
  for (;;) {
    pollfd readable{.fd = control, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, static_cast<int>(deadline.left().count())) == 0) {
      return os_failure("wait for a trial run", ETIMEDOUT);
    }
    std::array<char, kMostMessageBytes> message{};
    const ssize_t got = ::recv(control, message.data(), message.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return os_failure("listen to a trial run", errno);
    if (got == 0) return said;
    const auto [word, rest] = split_message(std::string_view(message.data(), static_cast<std::size_t>(got)));
    if (word == kContained) said.held = containment_in(rest);
    if (word == kRoom) said.room = room_in(rest);
    if (word == kFrozen) said.frozen = platform::send_packet(control, kGo) > 0;
    if (word == kDrained) said.drained = true;
  }
}

}  // namespace

Result<Trial> trial_run(const std::string& helpers, const std::string& program,
                        const std::string& control_group) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os_failure("make a socket pair", errno);
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));  // there is neither lock nor record
  RB_TRY(const auto receipt, make_receipt());
  if (::send(ours.get(), receipt.data(), receipt.size(), MSG_NOSIGNAL) < 0) {
    return os_failure("send a receipt", errno);
  }
  platform::SpawnRequest spawn;
  spawn.program = helpers + "/repobridge-run";
  spawn.argv = {"repobridge-run", std::to_string(kLimit.count())};
  if (!control_group.empty()) {
    spawn.argv.insert(spawn.argv.end(), {std::string(kControlGroupOption), control_group});
  }
  const auto directory = program.substr(0, program.rfind('/'));
  RB_TRY(const auto workdir, platform::open_directory(directory));
  spawn.working_directory = workdir.get();
  spawn.argv.insert(spawn.argv.end(),
                    {std::string(kRoomOption), "--", helpers + "/repobridge-room", "--workdir", directory,
                     "--best-effort", "--freeze-absent", kFrozenName, "--", program, "--version"});
  spawn.standard_error = null.get();
  spawn.passed = {theirs.get(), null.get(), null.get()};
  RB_TRY(auto child, platform::ChildProcess::spawn(spawn));
  theirs.reset();
  RB_TRY(const auto said, listen(ours.get()));
  if (!child.reap().success() || !said.drained || !said.held || !said.room) {
    return os_failure("understand a trial run", EPROTO);
  }
  return Trial{.held = *said.held, .room = *said.room, .frozen = said.frozen};
}

}  // namespace repobridge::runs
