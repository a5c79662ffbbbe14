#include "bridge/runs/supervised_run.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "bridge/runs/supervisor_protocol.h"
#include "bridge/wire/timeout.h"
#include "platform/child_process.h"
#include "platform/control_group.h"
#include "platform/packet.h"
#include "platform/pipe.h"
#include "policy/codes.h"

namespace repobridge::runs {
namespace {

using platform::make_pipe;
using platform::Pipe;
using platform::UniqueFd;
using Descriptor = asio::posix::stream_descriptor;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kChunkBytes = 65536;
// After the supervisor's end nobody of the run holds the pipes; who still does got them passed outside the
// tree.
constexpr std::chrono::milliseconds kHeldLimit{250};
// How long the end of a killed supervisor's control group is waited for. The bridge does nothing else then,
// but such a group is empty within milliseconds.
constexpr std::chrono::milliseconds kGroupLimit{1000};
// Beyond the supervisor's own limits, in case it hangs itself.
constexpr std::chrono::milliseconds kSupervisorSlack{5000};

Result<Pipe> make_control() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os_failure("make a socket pair", errno);
  }
  return Pipe{.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
}

// Before the supervisor is there, which hears it first.
Result<void> send_receipt(int control) {
  RB_TRY(const auto message, make_receipt());
  if (::send(control, message.data(), message.size(), MSG_NOSIGNAL) < 0) {
    return os_failure("send a receipt", errno);
  }
  return {};
}

std::string control_group_of(const RunRequest& request, const Holder& holder) {
  return request.control_groups.empty() ? "" : request.control_groups + "/" + control_group_name(holder);
}

Failure start_failed(int os_code) {
  return fail(Error{.kind = policy::codes::kActionStartFailed.kind,
                    .code = std::string(policy::codes::kActionStartFailed.name),
                    .message = "the program could not be started; the administrator must look after its argv "
                               "(is it installed and executable?)",
                    .os_code = os_code});
}

Failure room_refused(const platform::RoomParts& room) {
  return policy::refuse(
      policy::codes::kIsolationUnavailable,
      "this host does not give all that the action's room is made of (details.missing); the "
      "administrator must look after that, or let the action do with what there is "
      "(isolation: best_effort)",
      policy::Json{{"missing", room.missing}});
}

// The supervisor's arguments, up to the program's.
std::vector<std::string> supervisor_argv(const RunRequest& request, const std::string& control_group) {
  std::vector<std::string> argv{"repobridge-run", std::to_string(request.limit.count())};
  if (!control_group.empty()) argv.insert(argv.end(), {std::string(kControlGroupOption), control_group});
  if (!request.room.empty()) argv.emplace_back(kRoomOption);
  argv.emplace_back("--");
  if (request.room.empty()) return argv;
  argv.insert(argv.end(), request.room.begin(), request.room.end());
  argv.emplace_back("--");
  return argv;
}

class Run {
 public:
  Run(const bridge::CallContext& context, const RunRequest& request, std::string control_group, Pipe out,
      Pipe err, Pipe control, platform::ChildProcess supervisor)
      : executor_(context.executor),
        live_(context.output),
        check_frozen_(request.check_frozen),
        limit_(request.limit),
        control_group_(std::move(control_group)),
        max_output_bytes_(request.max_output_bytes),
        supervisor_(std::move(supervisor)),
        out_(executor_, out.read.release()),
        err_(executor_, err.read.release()),
        control_(executor_, control.read.release()),
        exit_(executor_, supervisor_.exit_fd()) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { (void)exit_.release(); }  // the descriptor is the supervisor's handle, and closed with it

  asio::awaitable<Result<RunOutcome>> follow(std::stop_token stop) {
    using namespace asio::experimental::awaitable_operators;  // NOLINT(google-build-using-namespace)
    const std::stop_callback on_stop(stop, [this] { end_by(EndReason::cancelled); });
    co_await (drain(out_, Stream::out, outcome_.out) && drain(err_, Stream::err, outcome_.err) &&
              follow_control());
    pipes_limit_.reset();
    if (refused_) co_return room_refused(outcome_.room);
    if (drifted_) co_return fail(*drifted_);
    if (start_error_) co_return start_failed(*start_error_);
    outcome_.proven = proved_ && !held_outside_;
    co_return std::move(outcome_);
  }

 private:
  // The first reason is the reason.
  void end_by(EndReason reason) {
    if (outcome_.reason == EndReason::itself && !leader_ended_) outcome_.reason = reason;
    // A supervisor that has ended cannot be told and need not be.
    (void)::send(control_.native_handle(), kStop.data(), kStop.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  asio::awaitable<void> drain(Descriptor& pipe, Stream stream, StreamOutput& output) {
    std::array<char, kChunkBytes> chunk{};
    for (;;) {
      const auto [ec, got] = co_await pipe.async_read_some(asio::buffer(chunk), kAwait);
      if (ec == asio::error::eof) co_return;
      if (ec) {
        held_outside_ = true;
        co_return;
      }
      keep(stream, output, std::string_view(chunk.data(), got));
    }
  }

  void keep(Stream stream, StreamOutput& output, std::string_view bytes) {
    const std::size_t room = max_output_bytes_ - output.bytes.size();
    output.bytes.append(bytes.substr(0, room));
    if (live_ && room > 0) live_->add(stream, bytes.substr(0, room));
    if (bytes.size() <= room || output.truncated) return;
    output.truncated = true;
    end_by(EndReason::output_limit);
  }

  asio::awaitable<void> follow_control() {
    const auto now = std::chrono::steady_clock::now();
    const wire::Timeout backstop(executor_, now + limit_ + kGrace + kKillLimit + kSupervisorSlack,
                                 [this] { supervisor_.signal(SIGKILL); });
    for (bool open = true; open;) {
      (void)co_await control_.async_wait(Descriptor::wait_read, kAwait);
      open = read_messages();
      co_await look_at_frozen();
    }
    (void)co_await exit_.async_wait(Descriptor::wait_read, kAwait);
    const bool ended_well = supervisor_.reap().success();
    proved_ = (drained_ && ended_well) || end_control_group();
    pipes_limit_.emplace(executor_, std::chrono::steady_clock::now() + kHeldLimit, [this] {
      out_.cancel();
      err_.cancel();
    });
  }

  // Whoever gave the run up meanwhile has told the supervisor before.
  asio::awaitable<void> look_at_frozen() {
    if (!frozen_.valid()) co_return;
    const auto checked = co_await check_frozen_(frozen_.get());
    frozen_.reset();
    if (!checked) {
      drifted_ = checked.error();
      co_return end_by(EndReason::itself);
    }
    outcome_.frozen = true;
    (void)platform::send_packet(control_.native_handle(), kGo);
  }

  // What a lost supervisor would have done. Whether that is the proof: a program that could write to control
  // groups could have left its own.
  bool end_control_group() {
    if (control_group_.empty() || !platform::end_control_group(control_group_, kGroupLimit)) return false;
    if (outcome_.reason == EndReason::itself && !leader_ended_) outcome_.reason = EndReason::supervisor_lost;
    return outcome_.containment.control_group && outcome_.containment.landlock_version > 0;
  }

  // False when the supervisor has closed its end.
  bool read_messages() {
    for (;;) {
      std::array<char, kMostMessageBytes> message{};
      UniqueFd beside;
      const ssize_t got = platform::receive_packet(control_.native_handle(), message, beside);
      // A supervisor that ended without reading our "stop": told once, before what it had said.
      if (got < 0 && (errno == ECONNRESET || errno == EINTR)) continue;
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      note(std::string_view(message.data(), static_cast<std::size_t>(got)));
      if (beside.valid()) frozen_ = std::move(beside);
    }
  }

  void note(std::string_view message) {
    const auto [word, rest] = split_message(message);
    if (word == kContained) outcome_.containment = containment_in(rest);
    if (word == kRoom) outcome_.room = room_in(rest);
    if (word == kRefused) refused_ = true;
    if (word == kFailed) start_error_ = static_cast<int>(number_in(rest));
    if (word == kExited) outcome_.exit_code = static_cast<int>(number_in(rest));
    if (word == kSignalled) outcome_.signal = static_cast<int>(number_in(rest));
    if (word == kExited || word == kSignalled) leader_ended_ = true;
    if (word == kEndedBy && rest == "deadline" && outcome_.reason == EndReason::itself) {
      outcome_.reason = EndReason::deadline;
    }
    if (word == kDrained) {
      drained_ = true;
      outcome_.stragglers_killed = number_in(rest);
    }
  }

  asio::any_io_executor executor_;
  std::shared_ptr<LiveOutput> live_;
  std::function<asio::awaitable<Result<void>>(int)> check_frozen_;
  std::chrono::milliseconds limit_;
  std::string control_group_;
  std::size_t max_output_bytes_;
  platform::ChildProcess supervisor_;
  Descriptor out_;
  Descriptor err_;
  Descriptor control_;
  Descriptor exit_;
  std::optional<wire::Timeout> pipes_limit_;
  RunOutcome outcome_;
  UniqueFd frozen_;  // until it has been looked at
  std::optional<Error> drifted_;
  std::optional<int> start_error_;
  bool refused_ = false;
  bool leader_ended_ = false;
  bool drained_ = false;
  bool proved_ = false;
  bool held_outside_ = false;
};

}  // namespace

std::string_view name_of(EndReason reason) {
  switch (reason) {
    case EndReason::itself:
      return "";
    case EndReason::deadline:
      return "deadline";
    case EndReason::output_limit:
      return "output_limit";
    case EndReason::cancelled:
      return "cancelled";
    case EndReason::supervisor_lost:
      return "supervisor_lost";
  }
  std::abort();
}

asio::awaitable<Result<RunOutcome>> run_supervised(bridge::CallContext context, const Lease& lease,
                                                   RunRequest request) {
  const auto began = std::chrono::steady_clock::now();
  RB_CO_TRY(auto out, make_pipe());
  RB_CO_TRY(auto err, make_pipe());
  RB_CO_TRY(auto control, make_control());
  RB_CO_CHECK(send_receipt(control.read.get()));
  platform::SpawnRequest spawn;
  spawn.program = request.supervisor;
  const auto control_group = control_group_of(request, lease.holder());
  spawn.argv = supervisor_argv(request, control_group);
  spawn.argv.insert(spawn.argv.end(), request.argv.begin(), request.argv.end());
  spawn.environment = request.environment;
  spawn.environment.push_back(environment_entry(lease.holder()));
  spawn.standard_input = request.own_streams ? STDIN_FILENO : -1;
  spawn.standard_output = request.own_streams ? STDOUT_FILENO : out.write.get();
  spawn.standard_error = request.own_streams ? STDERR_FILENO : err.write.get();
  spawn.passed = {control.write.get(), lease.lock(), lease.record()};
  spawn.working_directory = request.directory;
  auto supervisor = platform::ChildProcess::spawn(spawn);
  if (!supervisor) co_return start_failed(supervisor.error().os_code);
  for (Pipe* pipe : {&out, &err, &control}) pipe->write.reset();
  Run run(context, request, control_group, std::move(out), std::move(err), std::move(control),
          *std::move(supervisor));
  auto outcome = co_await run.follow(context.stop);
  if (outcome) {
    outcome->duration =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  }
  co_return outcome;
}

}  // namespace repobridge::runs
