// A run: a program and everything it starts, under a supervisor of its own, from start to proven end.
//
// Promise: the program gets exactly the request's argument vector, environment and directory; its input is
// empty. It ends by itself, at its limit, when it prints more than it may, or when the call is given up;
// whichever comes first is the reason. With `own_streams` input, output and errors are this process's own and
// nothing of them is kept or bounded. run_supervised() returns only when the supervisor has ended; `proven`
// says whether the whole tree is known to be gone: by the supervisor's word or, when it was killed, by the
// run's control group, which its program could not leave. Where the room freezes names of the workdir,
// `check_frozen` decides about the start. Output is drained to its end but kept only up to
// its limit. Owns: everything it starts. Threads: the event loop's one. Errors, when nothing ran:
// REPO_ACTION_START_FAILED; REPO_ISOLATION_UNAVAILABLE (details.missing) when this host does not give the
// room that is required; check_frozen's. Source: bridge/runs/supervisor_protocol.h; docs/ARCHITECTURE.md, "A
// run".
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bridge/context.h"
#include "bridge/runs/lease.h"
#include "bridge/wire/asio_fwd.h"
#include "platform/containment.h"
#include "platform/result.h"
#include "platform/room.h"

namespace repobridge::runs {

struct RunRequest {
  std::string supervisor;         // path of repobridge-run
  std::string control_groups;     // where the run's own may be made; "" when nowhere
  std::vector<std::string> room;  // repobridge-room and its options; empty: the program runs outside of any
  // Given the workdir as the program is going to see it, when names of it are frozen. The descriptor lives as
  // long as the work.
  std::function<asio::awaitable<Result<void>>(int workdir)> check_frozen;
  std::vector<std::string> argv;  // argv[0] is an absolute path
  std::vector<std::string> environment;
  int directory = -1;  // descriptor; must stay open until the run has started
  std::chrono::milliseconds limit{0};
  std::size_t max_output_bytes = 0;  // per stream
  bool own_streams = false;          // for a program of the administrator's, at a terminal
};

struct StreamOutput {
  std::string bytes;
  bool truncated = false;
};

// supervisor_lost: it was killed, and all of the run was ended without it.
enum class EndReason : std::uint8_t { itself, deadline, output_limit, cancelled, supervisor_lost };

struct RunOutcome {
  std::optional<int> exit_code;
  std::optional<int> signal;
  EndReason reason = EndReason::itself;
  StreamOutput out;
  StreamOutput err;
  bool proven = false;
  platform::Containment containment;
  platform::RoomParts room;
  bool frozen = false;  // as checked
  std::size_t stragglers_killed = 0;
  std::chrono::milliseconds duration{0};
};

// What a writer leaves behind: its answer, and whether nothing else is left of it: everything it started is
// known to be gone, and so is what it put into .git to work there. Without that the lease is not released,
// whatever the answer.
struct Written {
  Result<policy::Json> answer;
  bool proven = true;
};

asio::awaitable<Result<RunOutcome>> run_supervised(bridge::CallContext context, const Lease& lease,
                                                   RunRequest request);

std::string_view name_of(EndReason reason);

}  // namespace repobridge::runs
