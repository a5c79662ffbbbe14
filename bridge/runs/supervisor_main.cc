// repobridge-run: one process above one run. It is the last parent of everything the run starts, so when it
// has no child left, nothing of the run is alive, and that is what it tells the bridge.
//
//   repobridge-run DEADLINE_MS [--control-group PATH] [--room] -- PROGRAM [ARGUMENT…]
//
// Static, single-threaded, without any library but the platform's core. Environment, directory and
// descriptors 0 to 2 are the program's; the others are supervisor_protocol.h's. With --room the program is
// repobridge-room, whose words are handed on and whose program's end is the run's. Before it starts anything
// it says so in the writer's record, and there too it says when nothing is left, since the bridge may be
// gone.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "bridge/runs/supervisor_protocol.h"
#include "platform/deadline.h"
#include "platform/files.h"
#include "platform/packet.h"
#include "platform/process_identity.h"
#include "platform/process_tree.h"

namespace {

using namespace repobridge;        // NOLINT(google-build-using-namespace): this is the program
using namespace repobridge::runs;  // NOLINT(google-build-using-namespace)
using platform::Deadline;

// What is alive for this long after the program ended by itself was left behind and is killed.
constexpr std::chrono::milliseconds kStragglerTime{100};
constexpr std::chrono::milliseconds kKillRound{1};
// The one outside and the first one inside.
constexpr std::size_t kOwnOfRoom = 2;

void tell(std::string_view word, std::string_view rest = {}, int descriptor = -1) {
  std::string message(word);
  if (!rest.empty()) message.append(" ").append(rest);
  // A bridge that is gone cannot be told; its end of the socket then ends the run below.
  (void)platform::send_packet(kSupervisorSocket, message, descriptor);
}

// What the bridge sends first, and what makes of it lines of the record.
class Receipt {
 public:
  static Result<Receipt> hear() {
    std::array<char, 256> message{};
    ssize_t got = 0;
    do {
      got = ::recv(kSupervisorSocket, message.data(), message.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return os_failure("hear from the bridge", errno);
    const std::string_view text(message.data(), static_cast<std::size_t>(got));
    const auto first = text.find(' ');
    const auto second = text.rfind(' ');
    if (text.substr(0, first) != kReceipt || first == second)
      return os_failure("hear from the bridge", EPROTO);
    return Receipt(std::string(text.substr(first + 1, second - first - 1)),
                   std::string(text.substr(second + 1)));
  }

  // `control_group`: where the program is going to be; it may turn out that it cannot, and then nothing is
  // there.
  [[nodiscard]] Result<void> note_start(const std::string& control_group,
                                        const platform::Containment& planned) const {
    RB_TRY(const auto self, platform::identity_of(::getpid()));
    return platform::write_all(kSupervisorRecord, R"({"run":{"pid":)" + std::to_string(self.pid) +
                                                      R"(,"started":)" + std::to_string(self.started) +
                                                      R"(,"receipt_sha256":")" + sha256_ + "\"" +
                                                      described(control_group, planned) + "}}\n");
  }

  [[nodiscard]] Result<void> note_drained() const {
    return platform::write_all(kSupervisorRecord, R"({"drained":")" + secret_ + "\"}\n");
  }

 private:
  // A path with a character that JSON would have to escape is not noted: then the group proves nothing.
  static std::string described(const std::string& group, const platform::Containment& planned) {
    const auto harmless = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (group.empty() || !std::ranges::all_of(group, harmless)) return "";
    const bool confined = planned.landlock_version > 0;
    return R"(,"control_group":{"path":")" + group + R"(","confined":)" + (confined ? "true" : "false") + "}";
  }

  Receipt(std::string secret, std::string sha256) : secret_(std::move(secret)), sha256_(std::move(sha256)) {}
  std::string secret_;
  std::string sha256_;
};

// The room's words, which are handed on as they are, and the bridge's one to it. Its end is not the end of
// the room.
class Room {
 public:
  // Nothing is heard where there is none.
  Room() = default;
  static Result<Room> furnish() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return os_failure("listen to the room", errno);
    }
    Room room;
    room.there_ = true;
    room.ours_ = platform::UniqueFd(ends[0]);
    room.theirs_ = platform::UniqueFd(ends[1]);
    return room;
  }

  [[nodiscard]] int theirs() const { return theirs_.get(); }
  void give_away() { theirs_.reset(); }
  [[nodiscard]] int descriptor() const { return ours_.get(); }
  [[nodiscard]] bool program_ended() const { return program_ended_; }
  // Whether there is one, whose program has not been started yet.
  [[nodiscard]] bool still_closed() const { return there_ && !started_; }

  void let_start() const { (void)platform::send_packet(ours_.get(), kGo); }
  // A room that waits for a word ends then.
  void stay_closed() { ours_.reset(); }

  void hand_on() {
    for (;;) {
      std::array<char, kMostMessageBytes> message{};
      platform::UniqueFd beside;
      const ssize_t got = platform::receive_packet(ours_.get(), message, beside);
      if (got < 0) return;
      if (got == 0) return ours_.reset();
      const std::string_view text(message.data(), static_cast<std::size_t>(got));
      tell(text, {}, beside.get());
      const auto word = text.substr(0, text.find(' '));
      started_ = started_ || word == kStarted;
      program_ended_ =
          program_ended_ || word == kExited || word == kSignalled || word == kFailed || word == kRefused;
    }
  }

 private:
  platform::UniqueFd ours_;
  platform::UniqueFd theirs_;
  bool there_ = false;
  bool started_ = false;
  bool program_ended_ = false;
};

// The supervisor must not hold the run's output open: the bridge waits for its end.
void let_go_of_output() {
  platform::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(null.get(), fd);
}

class Run {
 public:
  Run(platform::ProcessTree& tree, pid_t leader, std::chrono::milliseconds limit, const Receipt& receipt,
      Room room)
      : tree_(&tree),
        leader_(leader),
        deadline_(Deadline::after(limit)),
        receipt_(&receipt),
        room_(std::move(room)) {}

  // 0: proven gone.
  int follow() {
    for (;;) {
      hear_room();
      const auto round = tree_->reap();
      for (const auto& ended : round.ended) note_end(ended);
      if (round.none_left) return say_drained();
      advance();
      if (phase_ == Phase::killing) {
        const auto found = tree_->kill_all();
        if (++kill_rounds_ >= kFewestKillRounds && phase_end_.passed()) {
          tell(kUnproven, std::to_string(found));
          return 1;
        }
      }
      wait();
    }
  }

 private:
  enum class Phase { running, leader_ended, asked, killing };

  [[nodiscard]] int say_drained() const {
    // A bridge that lives needs no record of it, and one that died finds none: both ways the safe one.
    (void)receipt_->note_drained();
    tell(kDrained, std::to_string(stragglers_));
    return 0;
  }

  void hear_room() {
    room_.hand_on();
    if (room_.program_ended() && leader_alive_) leader_ended();
  }

  void note_end(const platform::Reaped& ended) {
    if (ended.pid != leader_) return;
    hear_room();  // whose last words it may have been
    if (!leader_alive_) return;
    if (!room_.still_closed()) {
      tell_end(ended.status);
    } else if (phase_ == Phase::running) {
      tell(kFailed, std::to_string(ECHILD));
    }
    leader_ended();
  }

  static void tell_end(const platform::ExitStatus& status) {
    if (status.code) tell(kExited, std::to_string(*status.code));
    if (status.signal) tell(kSignalled, std::to_string(*status.signal));
  }

  void leader_ended() {
    leader_alive_ = false;
    if (phase_ == Phase::running) enter(Phase::leader_ended, kStragglerTime);
  }

  void enter(Phase phase, std::chrono::milliseconds limit) {
    phase_ = phase;
    phase_end_ = Deadline::after(limit);
  }

  void end_by(std::string_view reason) {
    if (phase_ == Phase::asked || phase_ == Phase::killing) return;
    if (phase_ == Phase::running) tell(kEndedBy, reason);
    if (room_.still_closed()) room_.stay_closed();
    if (leader_alive_) tree_->ask_to_end();
    enter(Phase::asked, leader_alive_ ? kGrace : std::chrono::milliseconds{0});
  }

  void advance() {
    if (bridge_says_stop()) end_by("stop");
    if (phase_ == Phase::running && deadline_.passed()) end_by("deadline");
    if (phase_ == Phase::leader_ended && phase_end_.passed()) {
      const auto found = tree_->kill_all();
      stragglers_ = found - std::min(found, own_of_room());
      enter(Phase::killing, kKillLimit);
    }
    // Once the program itself has gone, what it left gets no grace of its own.
    if (phase_ == Phase::asked && (phase_end_.passed() || !leader_alive_)) enter(Phase::killing, kKillLimit);
  }

  // True when asked to, and when the bridge is gone.
  bool bridge_says_stop() {
    while (!bridge_gone_) {
      std::array<char, 16> message{};
      const ssize_t got = ::recv(kSupervisorSocket, message.data(), message.size(), MSG_DONTWAIT);
      if (got < 0) return false;
      const std::string_view word(message.data(), static_cast<std::size_t>(got));
      if (word == kStop) return true;
      if (word == kGo) room_.let_start();
      bridge_gone_ = got == 0;
    }
    return true;
  }

  // The two processes of the room itself are no stragglers; they end when nobody else is left.
  [[nodiscard]] std::size_t own_of_room() const { return room_.descriptor() >= 0 ? kOwnOfRoom : 0; }

  void wait() {
    const auto limit = phase_ == Phase::running   ? deadline_.left()
                       : phase_ == Phase::killing ? kKillRound
                                                  : phase_end_.left();
    std::array<pollfd, 3> watched{
        pollfd{.fd = tree_->changes(), .events = POLLIN, .revents = 0},
        pollfd{.fd = room_.descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = bridge_gone_ ? -1 : kSupervisorSocket, .events = POLLIN, .revents = 0}};
    (void)::poll(watched.data(), watched.size(), static_cast<int>(limit.count()) + 1);
    tree_->take_changes();
  }

  platform::ProcessTree* tree_;
  pid_t leader_;
  Deadline deadline_;
  const Receipt* receipt_;
  Room room_;
  Deadline phase_end_ = Deadline::after(std::chrono::milliseconds{0});
  Phase phase_ = Phase::running;
  bool leader_alive_ = true;
  bool bridge_gone_ = false;
  std::size_t stragglers_ = 0;
  int kill_rounds_ = 0;
};

int fail_to_start(int os_code) {
  tell(kFailed, std::to_string(os_code));
  return 2;
}

void tell_containment(const platform::Containment& held) {
  const auto word = [](int number) { return " " + std::to_string(number); };
  tell(kContained, std::to_string(held.subreaper ? 1 : 0) + word(held.control_group ? 1 : 0) +
                       word(held.landlock_version) + word(held.signal_scope ? 1 : 0));
}

struct Arguments {
  std::chrono::milliseconds limit{0};
  std::string control_group;
  bool room = false;
  std::vector<std::string> argv;
};

std::optional<Arguments> parse(std::vector<std::string> words) {
  const auto dashes = std::ranges::find(words, "--");
  if (words.empty() || dashes == words.begin() || words.end() - dashes < 2) return std::nullopt;
  Arguments arguments{.argv = {dashes + 1, words.end()}};
  long long limit = 0;
  const auto& text = words.front();
  if (std::from_chars(text.data(), text.data() + text.size(), limit).ec != std::errc{}) return std::nullopt;
  arguments.limit = std::chrono::milliseconds{limit};
  auto word = words.begin() + 1;
  if (dashes - word >= 2 && *word == kControlGroupOption) {
    arguments.control_group = word[1];
    word += 2;
  }
  if (word != dashes && *word == kRoomOption) {
    arguments.room = true;
    ++word;
  }
  return word == dashes ? std::optional(arguments) : std::nullopt;
}

Result<Room> room_for(const Arguments& arguments) { return arguments.room ? Room::furnish() : Room(); }

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse({argv + 1, argv + argc});
  if (!arguments) return 2;
  (void)::fcntl(kSupervisorSocket, F_SETFD, FD_CLOEXEC);
  auto tree = platform::ProcessTree::root(arguments->control_group);
  if (!tree) return fail_to_start(tree.error().os_code);
  const auto receipt = Receipt::hear();
  if (!receipt) return fail_to_start(receipt.error().os_code);
  const auto noted = receipt->note_start(arguments->control_group, tree->containment());
  if (!noted) return fail_to_start(noted.error().os_code);
  auto room = room_for(*arguments);
  if (!room) return fail_to_start(room.error().os_code);
  const auto leader = tree->start(arguments->argv, room->theirs());
  if (!leader) {
    if (tree->reap().none_left) (void)receipt->note_drained();
    return fail_to_start(leader.error().os_code);
  }
  tell_containment(tree->containment());
  if (!arguments->room) tell(kStarted);
  room->give_away();
  let_go_of_output();
  return Run(*tree, *leader, arguments->limit, *receipt, *std::move(room)).follow();
}
