// A tool call between the client's words and the bridge's, on whichever transport it came.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "bridge/wire/message.h"
#include "mcp/server.h"
#include "platform/result.h"

namespace repobridge::mcp {

// As the bridge is asked, under a new id.
Result<wire::Request> wire_request(PassedCall call, const wire::Caller& caller);

// What a caller who asked for it hears of its call at work. Promise: the number grows from note to note.
class ProgressNotes {
 public:
  ProgressNotes(Json token, std::string tool) : token_(std::move(token)), tool_(std::move(tool)) {}

  // The notification, or nothing when there is no news.
  std::optional<Json> next(const wire::Progress& progress);

 private:
  Json token_;
  std::string tool_;
  std::chrono::milliseconds last_{0};
};

// Nothing for a caller who did not ask.
std::optional<ProgressNotes> notes_of(const PassedCall& call);

}  // namespace repobridge::mcp
