// What the bridge and repobridge-run say to each other over the supervisor's socket (SOCK_SEQPACKET, so one
// packet is one message). The socket is the lifeline too: when the bridge's end closes, the run ends.
//
//   from the bridge:
//     receipt SECRET SHA256      first, before anything is started: what the supervisor writes into the
//                                record when nothing is left, and the digest by which it is known; the
//                                bridge may be gone by then
//     go                         what was frozen is what it ought to be: start the program
//     stop                       end the run
//   from the run:
//     contained S G L N          before anything else: what holds it. Numbers: whether it adopts orphans, has
//                                a control group, Landlock's version (0: none), whether signals stay inside
//     room HELD MISSING          where there is one (platform/room.h): its parts, with commas; "-" for none
//     frozen                     names of the workdir are (platform/frozen_workdir.h); with a descriptor of
//                                the workdir as the program is going to see it. Nothing starts before "go"
//     refused                    something is missing of the room and required; nothing ran
//     started                    the program runs, or is about to
//     failed ERRNO               it could not be started; nothing ran
//     exited CODE | signalled N  how the program itself ended
//     drained COUNT              proof: no process of the tree is left; COUNT were killed after the program
//                                had ended by itself
//     unproven COUNT             the limit for killing passed with COUNT still there
//     ended-by deadline|stop     what ended the run first; not sent when the program ended itself
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "platform/containment.h"
#include "platform/result.h"
#include "platform/room.h"

namespace repobridge::runs {

// The supervisor's descriptors: its end of the socket, the workdir's lock, which it only keeps, and the
// writer's record (bridge/runs/lease.h), which it appends to.
inline constexpr int kSupervisorSocket = 3;
inline constexpr int kSupervisorRecord = 5;

inline constexpr std::string_view kReceipt = "receipt";
inline constexpr std::string_view kGo = "go";
inline constexpr std::string_view kStop = "stop";
inline constexpr std::string_view kContained = "contained";
inline constexpr std::string_view kRoom = "room";
inline constexpr std::string_view kFrozen = "frozen";
inline constexpr std::string_view kRefused = "refused";
inline constexpr std::string_view kStarted = "started";
inline constexpr std::string_view kFailed = "failed";
inline constexpr std::string_view kExited = "exited";
inline constexpr std::string_view kSignalled = "signalled";
inline constexpr std::string_view kDrained = "drained";
inline constexpr std::string_view kUnproven = "unproven";
inline constexpr std::string_view kEndedBy = "ended-by";

// Before "--" in the supervisor's arguments, with the path of a directory that it makes and starts the
// program in. It goes without where that cannot be.
inline constexpr std::string_view kControlGroupOption = "--control-group";

// Before "--" too: what is started is repobridge-room, whose descriptor 3 is for its words.
inline constexpr std::string_view kRoomOption = "--room";

// No message is longer.
inline constexpr std::size_t kMostMessageBytes = 512;

// From the polite request to the kill; git removes its lock files on the former only.
inline constexpr std::chrono::milliseconds kGrace{1500};
// How long killing may take before the supervisor admits that it cannot prove the end; and how often it must
// have tried by then, since a busy machine may give it next to nothing of that time.
inline constexpr std::chrono::milliseconds kKillLimit{5000};
inline constexpr int kFewestKillRounds = 100;

// The bridge's side.

// A receipt that nobody else knows, as the message that brings it.
Result<std::string> make_receipt();

struct SupervisorMessage {
  std::string_view word;
  std::string_view rest;
};
SupervisorMessage split_message(std::string_view message);
std::size_t number_in(std::string_view text);
platform::Containment containment_in(std::string_view numbers);
platform::RoomParts room_in(std::string_view held_and_missing);

}  // namespace repobridge::runs
