// The protocol's revisions: the one place that knows that there is more than one.
//
// Promise: which era a message belongs to is read from that message alone, never remembered from an earlier
// one, since clients ask server/discover and then initialize on the same pipe. A request of a method that its
// era does not have is answered as an unknown one.
// Errors: -32601 method, -32602 malformed envelope or params, -32022 revision that is not served.
// Source: the specifications 2024-11-05 to 2026-07-28.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "mcp/json_rpc.h"

namespace repobridge::mcp {

inline constexpr int kUnsupportedRevision = -32022;

// Legacy: the revisions that begin with initialize. Modern: those whose every request carries an envelope.
enum class Era : std::uint8_t { legacy, modern };
enum class Method : std::uint8_t { initialize, ping, discover, list_tools, call_tool };

struct Decision {
  Era era = Era::legacy;
  Method method = Method::ping;
};

tl::expected<Decision, RpcError> decide(const RpcRequest& request);

// What a message says of its revision, for a transport that has more to compare it with.
struct Claim {
  bool modern = false;               // it has an envelope that makes it modern, sound or not
  std::optional<std::string> fault;  // what is wrong with the envelope
  std::string version;               // which it names, when nothing is wrong
  bool served = false;
};
Claim claim_of(std::string_view method, const Json& params);

// The one revision that has batches; over HTTP it is what a request without a header means.
inline constexpr std::string_view kBatchRevision = "2025-03-26";
// Why a batch that came under `revision` is refused as a whole; nothing for one that is taken.
std::optional<std::string> batch_fault(const RpcInput& input, std::string_view revision);

bool is_legacy_revision(std::string_view version);
bool names_modern_revision(std::string_view version);
// The key without which a request is not modern.
std::string missing_envelope_text();
RpcError unsupported_revision(const std::string& requested);

// What a client may show or log about us.
struct ServerInfo {
  std::string name;
  std::string title;
  std::string version;
};

// The answer to initialize; -32602 when it names no revision.
tl::expected<Json, RpcError> initialize_result(const Json& params, const ServerInfo& info,
                                               const std::string& instructions);
// The answer to server/discover, still to be dressed.
Json discover_result(const std::string& instructions);

// Whether a client may keep an answer for a while.
enum class Caching : std::uint8_t { none, brief };

// Adds what the era demands of every result.
Json dressed(Era era, Json result, const ServerInfo& info, Caching caching = Caching::none);

// The token under which the caller wants to hear of progress; -32602 when it is of no allowed type.
tl::expected<std::optional<Json>, RpcError> progress_token(const Json& params);

// The request that notifications/cancelled means; null when it names none.
RpcId cancelled_id(const Json& params);

}  // namespace repobridge::mcp
