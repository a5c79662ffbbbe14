#include "mcp/session.h"

#include <algorithm>

#include "bridge/wire/frame.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

RpcError invalid_request(std::string message) {
  return RpcError{.code = RpcError::kInvalidRequest, .message = std::move(message)};
}

bool is_answered(const RpcItem& item) { return !item || std::holds_alternative<RpcRequest>(*item); }

}  // namespace

void Session::receive(const Line& line) {
  if (line.too_long) {
    send(error_message(nullptr, invalid_request("a message must have at most " +
                                                std::to_string(wire::kMaxRequestBytes) + " bytes")));
    return;
  }
  const auto input = read_input(line.text);
  if (!input) {
    send(error_message(input.error().id, input.error().error));
  } else if (input->batch) {
    take_batch(*input);
  } else {
    take(input->items.front(), nullptr);
  }
}

void Session::take_batch(const RpcInput& input) {
  if (auto fault = batch_fault(input, revision_)) {
    send(error_message(nullptr, invalid_request(*std::move(fault))));
    return;
  }
  const auto batch = std::make_shared<Batch>();
  batch->awaited = static_cast<std::size_t>(std::ranges::count_if(input.items, is_answered));
  for (const RpcItem& item : input.items) take(item, batch);
}

void Session::take(const RpcItem& item, const BatchPtr& batch) {
  if (!item) {
    settle(batch, error_message(item.error().id, item.error().error));
  } else if (const auto* request = std::get_if<RpcRequest>(&*item)) {
    handle(*request, batch);
  } else if (const auto* notification = std::get_if<RpcNotification>(&*item)) {
    handle(*notification);
  }
}

void Session::handle(const RpcRequest& request, const BatchPtr& batch) {
  if (in_flight_.contains(request.id)) {
    settle(batch, error_message(request.id, invalid_request("a call with this id is still at work")));
    return;
  }
  auto reply = parts_.server.answer(request, Rights::write);
  if (auto* result = std::get_if<Json>(&reply)) {
    if (request.method == "initialize") revision_ = result->value("protocolVersion", "");
    settle(batch, result_message(request.id, std::move(*result)));
  } else if (const auto* error = std::get_if<RpcError>(&reply)) {
    settle(batch, error_message(request.id, *error));
  } else {
    start(request.id, std::get<PassedCall>(std::move(reply)), batch);
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

void Session::start(const RpcId& id, PassedCall call, const BatchPtr& batch) {
  if (in_flight_.size() >= kMostCallsInFlight) {
    settle(batch, error_message(id, RpcError{.code = RpcError::kInternalError,
                                             .message = "too many calls at once; await an answer"}));
    return;
  }
  InFlight& entry = in_flight_[id];
  entry.era = call.era;
  entry.batch = batch;
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
  if (call.cancelled) return settle(call.batch, nullptr);
  if (!outcome) parts_.report(outcome.error());
  settle(call.batch, result_message(id, parts_.server.call_result(call.era, outcome)));
}

void Session::settle(const BatchPtr& batch, Json answer) const {
  if (!batch) {
    if (!answer.is_null()) send(answer);
    return;
  }
  if (!answer.is_null()) batch->answers.push_back(std::move(answer));
  if (--batch->awaited == 0 && !batch->answers.empty()) send(batch->answers);
}

void Session::send(const Json& message) const { parts_.send(policy::dump_json(message)); }

}  // namespace repobridge::mcp
