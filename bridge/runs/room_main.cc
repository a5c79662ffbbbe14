// repobridge-room: the closed room of one run, between its supervisor and its program (platform/room.h).
//
//   repobridge-room [OPTION…] -- PROGRAM [ARGUMENT…]
//
//     --workdir PATH         of this process's directory; once
//     --writable             the program may write it
//     --network              the host's, instead of none
//     --user-home            the user's home stays readable, but for what is hidden
//     --best-effort          what this kernel lacks is done without
//     --home PATH            a home; the first is the user's
//     --home-read PATH       what a private home has of it; relative to it
//     --hide PATH            a file or directory that nobody inside may read
//     --freeze-file PATH     of a workdir that is not written: stays what it is now; relative to it
//     --freeze-directory PATH
//     --freeze-absent PATH
//     --freeze-bytes NUMBER  what copies of them may take
//
// Static, single-threaded, without any library but the platform's core and libseccomp. What it says on
// descriptor 3 is supervisor_protocol.h's; the supervisor hands it on.
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bridge/runs/supervisor_protocol.h"
#include "platform/packet.h"
#include "platform/process_tree.h"
#include "platform/room.h"

namespace {

using namespace repobridge;        // NOLINT(google-build-using-namespace): this is the program
using namespace repobridge::runs;  // NOLINT(google-build-using-namespace)

void tell(std::string_view word, std::string_view rest = {}) {
  std::string message(word);
  if (!rest.empty()) message.append(" ").append(rest);
  (void)platform::send_packet(platform::kRoomDescriptor, message);
}

std::string with_commas(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ",") + word;
  return text.empty() ? "-" : text;
}

// The bridge looks at it and says go, or the socket ends.
bool show_frozen(int workdir) {
  std::array<char, kMostMessageBytes> answer{};
  ssize_t got = platform::send_packet(platform::kRoomDescriptor, kFrozen, workdir);
  if (got < 0) return false;
  do {
    got = ::recv(platform::kRoomDescriptor, answer.data(), answer.size(), 0);
  } while (got < 0 && errno == EINTR);
  return got > 0 && std::string_view(answer.data(), static_cast<std::size_t>(got)) == kGo;
}

void tell_failure(const Error& error) { tell(kFailed, std::to_string(error.os_code)); }

void tell_end(const platform::ExitStatus& status) {
  if (status.code) tell(kExited, std::to_string(*status.code));
  if (status.signal) tell(kSignalled, std::to_string(*status.signal));
}

struct Arguments {
  platform::RoomPlan plan;
  std::vector<std::string> argv;
};

// The value's place, or null for an unknown option.
std::vector<std::string>* list_named(platform::RoomPlan& plan, std::string_view option) {
  if (option == "--home") return &plan.homes;
  if (option == "--home-read") return &plan.home_read;
  if (option == "--hide") return &plan.hidden;
  if (option == "--freeze-file") return &plan.frozen.files;
  if (option == "--freeze-directory") return &plan.frozen.directories;
  if (option == "--freeze-absent") return &plan.frozen.absent;
  return nullptr;
}

bool set_flag(platform::RoomPlan& plan, std::string_view option) {
  if (option == "--writable") plan.writable = true;
  if (option == "--network") plan.network = true;
  if (option == "--user-home") plan.private_home = false;
  if (option == "--best-effort") plan.best_effort = true;
  return option == "--writable" || option == "--network" || option == "--user-home" ||
         option == "--best-effort";
}

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  Arguments arguments;
  auto word = words.begin();
  for (; word != words.end() && *word != "--"; ++word) {
    if (set_flag(arguments.plan, *word)) continue;
    const auto& option = *word;
    if (++word == words.end()) return std::nullopt;
    if (option == "--workdir") {
      arguments.plan.workdir = *word;
    } else if (option == "--freeze-bytes") {
      auto& most = arguments.plan.frozen.most_bytes;
      if (std::from_chars(word->data(), word->data() + word->size(), most).ec != std::errc{})
        return std::nullopt;
    } else if (auto* const list = list_named(arguments.plan, option)) {
      list->push_back(*word);
    } else {
      return std::nullopt;
    }
  }
  if (words.end() - word < 2 || arguments.plan.workdir.empty()) return std::nullopt;
  arguments.argv.assign(word + 1, words.end());
  return arguments;
}

// The program can read the command line of the room's first process, and need not learn of what is hidden
// more than what is mounted there tells it.
void forget(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) ::explicit_bzero(argv[i], std::strlen(argv[i]));
}

}  // namespace

int main(int argc, char** argv) {
  (void)::fcntl(platform::kRoomDescriptor, F_SETFD, FD_CLOEXEC);
  const auto arguments = parse({argv + 1, argv + argc});
  if (!arguments) return 2;
  forget(argc, argv);
  const platform::RoomEvents events{.furnished =
                                        [](const platform::RoomParts& parts) {
                                          tell(kRoom,
                                               with_commas(parts.held) + " " + with_commas(parts.missing));
                                        },
                                    .refused = [] { tell(kRefused); },
                                    .frozen = show_frozen,
                                    .failed = tell_failure,
                                    .started = [] { tell(kStarted); },
                                    .ended = tell_end};
  platform::run_in_room(arguments->plan, arguments->argv, events);
  return 0;
}
