// One conversation with one client: lines in, lines out, and the calls that are at work meanwhile.
//
// Promise: every request is answered exactly once, but one that was cancelled not at all; notifications and
// responses never are. Answers come as they are ready, so a ping is answered while a call is at work; those
// of a batch come together, when the last is ready. An id stays taken until its call has ended. All that is
// remembered of earlier messages is whether initialize agreed on the revision that has batches. Threads: the
// main one. Source: MCP "Base protocol", "Cancellation",
// "Progress".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "mcp/call.h"
#include "mcp/line_splitter.h"
#include "mcp/server.h"
#include "mcp/tool_call.h"

namespace repobridge::mcp {

// More at once than any client means to have.
inline constexpr std::size_t kMostCallsInFlight = 128;

class Session {
 public:
  struct Parts {
    const Server& server;
    wire::Caller caller;
    std::function<void(std::string line)> send;
    StartCall start_call;
    // Hears of what the administrator should see: a code, never content.
    std::function<void(const Error&)> report;
  };

  explicit Session(Parts parts) : parts_(std::move(parts)) {}
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  void receive(const Line& line);

 private:
  // The answers to a batch, until they are complete.
  struct Batch {
    std::size_t awaited = 0;
    Json answers = Json::array();
  };
  using BatchPtr = std::shared_ptr<Batch>;  // null: the message came alone

  struct InFlight {
    Era era = Era::legacy;
    BatchPtr batch;
    std::optional<ProgressNotes> notes;
    bool cancelled = false;
    CancelCall cancel;
  };

  void take_batch(const RpcInput& input);
  void take(const RpcItem& item, const BatchPtr& batch);
  void handle(const RpcRequest& request, const BatchPtr& batch);
  void handle(const RpcNotification& notification);
  void start(const RpcId& id, PassedCall call, const BatchPtr& batch);
  void progressed(const RpcId& id, const wire::Progress& progress);
  void ended(const RpcId& id, const Result<wire::Outcome>& outcome);
  // The answer that a request gets; null when it gets none.
  void settle(const BatchPtr& batch, Json answer) const;
  void send(const Json& message) const;

  Parts parts_;
  std::string revision_;  // that the latest initialize agreed on
  std::map<RpcId, InFlight> in_flight_;
};

}  // namespace repobridge::mcp
