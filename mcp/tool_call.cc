#include "mcp/tool_call.h"

#include "platform/random.h"

namespace repobridge::mcp {
namespace {

constexpr std::size_t kRequestIdBytes = 16;

}  // namespace

Result<wire::Request> wire_request(PassedCall call, const wire::Caller& caller) {
  wire::Request request{
      .tool = std::move(call.tool), .arguments = std::move(call.arguments), .caller = caller};
  RB_TRY(request.id, platform::random_hex(kRequestIdBytes));
  return request;
}

std::optional<Json> ProgressNotes::next(const wire::Progress& progress) {
  const std::chrono::milliseconds elapsed(progress.elapsed_ms);
  if (elapsed <= last_) return std::nullopt;
  last_ = elapsed;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed);
  std::string message = tool_ + " is at work for " + std::to_string(seconds.count()) + " s";
  if (progress.output_bytes > 0) message += ", " + std::to_string(progress.output_bytes) + " bytes printed";
  return notification_message("notifications/progress",
                              Json{{"progressToken", token_},
                                   {"progress", std::chrono::duration<double>(elapsed).count()},
                                   {"message", std::move(message)}});
}

std::optional<ProgressNotes> notes_of(const PassedCall& call) {
  if (!call.progress_token) return std::nullopt;
  return ProgressNotes(*call.progress_token, call.tool);
}

}  // namespace repobridge::mcp
