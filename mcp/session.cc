#include "mcp/session.h"

#include "bridge/wire/frame.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

RpcError invalid_request(std::string message) {
  return RpcError{.code = RpcError::kInvalidRequest, .message = std::move(message)};
}

}  // namespace

void Session::receive(const Line& line) {
  if (line.too_long) {
    send(error_message(nullptr, invalid_request("a message must have at most " +
                                                std::to_string(wire::kMaxRequestBytes) + " bytes")));
    return;
  }
  const auto message = read_message(line.text);
  if (!message) {
    send(error_message(message.error().id, message.error().error));
  } else if (const auto* request = std::get_if<RpcRequest>(&*message)) {
    handle(*request);
  } else if (const auto* notification = std::get_if<RpcNotification>(&*message)) {
    handle(*notification);
  }
}

void Session::handle(const RpcRequest& request) {
  if (in_flight_.contains(request.id)) {
    send(error_message(request.id, invalid_request("a call with this id is still at work")));
    return;
  }
  auto reply = parts_.server.answer(request, Rights::write);
  if (auto* result = std::get_if<Json>(&reply)) {
    send(result_message(request.id, std::move(*result)));
  } else if (const auto* error = std::get_if<RpcError>(&reply)) {
    send(error_message(request.id, *error));
  } else {
    start(request.id, std::get<PassedCall>(std::move(reply)));
  }
}

void Session::handle(const RpcNotification& notification) {
  // Whatever else is notified of asks for nothing that we would do.
  if (notification.method != "notifications/cancelled") return;
  const auto found = in_flight_.find(cancelled_id(notification.params));
  if (found == in_flight_.end() || found->second.cancelled) return;
  found->second.cancelled = true;
  found->second.cancel();
}

void Session::start(const RpcId& id, PassedCall call) {
  if (in_flight_.size() >= kMostCallsInFlight) {
    send(error_message(id, RpcError{.code = RpcError::kInternalError,
                                    .message = "too many calls at once; await an answer"}));
    return;
  }
  InFlight& entry = in_flight_[id];
  entry.era = call.era;
  entry.notes = notes_of(call);
  auto request = wire_request(std::move(call), parts_.caller);
  if (!request) {
    ended(id, fail(std::move(request).error()));
    return;
  }
  entry.cancel = parts_.start_call(
      *std::move(request),
      CallHandlers{.progress = [this, id](const auto& progress) { progressed(id, progress); },
                   .ended = [this, id](const auto& outcome) { ended(id, outcome); }});
}

void Session::progressed(const RpcId& id, const wire::Progress& progress) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;
  InFlight& call = found->second;
  if (!call.notes || call.cancelled) return;
  if (const auto note = call.notes->next(progress)) send(*note);
}

void Session::ended(const RpcId& id, const Result<wire::Outcome>& outcome) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;
  const InFlight call = std::move(found->second);
  in_flight_.erase(found);
  if (call.cancelled) return;
  if (!outcome) parts_.report(outcome.error());
  send(result_message(id, parts_.server.call_result(call.era, outcome)));
}

void Session::send(const Json& message) const { parts_.send(policy::dump_json(message)); }

}  // namespace repobridge::mcp
