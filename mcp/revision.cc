#include "mcp/revision.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace repobridge::mcp {
namespace {

using namespace std::string_view_literals;
using Refusal = tl::unexpected<RpcError>;

constexpr std::array kLegacyRevisions = {"2024-11-05"sv, "2025-03-26"sv, "2025-06-18"sv, "2025-11-25"sv};
constexpr std::array kModernRevisions = {"2026-07-28"sv};

// Revisions are dates and compare as text.
constexpr std::string_view kFirstModern = kModernRevisions.front();
constexpr std::string_view kNewestLegacy = kLegacyRevisions.back();

constexpr auto kVersionKey = "io.modelcontextprotocol/protocolVersion"sv;
constexpr auto kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities"sv;
constexpr auto kClientInfoKey = "io.modelcontextprotocol/clientInfo"sv;
constexpr auto kServerInfoKey = "io.modelcontextprotocol/serverInfo"sv;

// The tools change only with a new front.json or a new program, both of which start a new process.
constexpr int kCacheMilliseconds = 60'000;

struct Row {
  std::string_view name;
  Method method;
  bool legacy;
  bool modern;
};
constexpr std::array<Row, 5> kMethods{{
    //                                     legacy modern
    {"initialize", Method::initialize, true, false},
    {"ping", Method::ping, true, false},
    {"server/discover", Method::discover, false, true},
    {"tools/list", Method::list_tools, true, true},
    {"tools/call", Method::call_tool, true, true},
}};

Refusal invalid_params(std::string message) {
  return Refusal(RpcError{.code = RpcError::kInvalidParams, .message = std::move(message)});
}

const Json* member(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const Json* meta_member(const Json& params, std::string_view name) {
  const Json* meta = member(params, "_meta");
  return meta == nullptr ? nullptr : member(*meta, name);
}

// The first thing wrong with an envelope that is there.
std::optional<std::string> envelope_fault(const Json& params) {
  const auto must = [](std::string_view key, std::string_view what) {
    return std::string("'_meta' of a modern request: ").append(key).append(" must be ").append(what);
  };
  const Json* version = meta_member(params, kVersionKey);
  const Json* capabilities = meta_member(params, kCapabilitiesKey);
  const Json* client = meta_member(params, kClientInfoKey);
  if (!version->is_string()) return must(kVersionKey, "a string");
  if (capabilities == nullptr || !capabilities->is_object()) return must(kCapabilitiesKey, "an object");
  if (client != nullptr && !client->is_object()) return must(kClientInfoKey, "an object");
  return std::nullopt;
}

Json supported_versions() { return Json(kModernRevisions); }

// Which era the request belongs to, rung by rung; the order is part of the protocol.
tl::expected<Era, RpcError> era_of(const RpcRequest& request) {
  const Claim claim = claim_of(request.method, request.params);
  if (!claim.modern) return Era::legacy;
  if (claim.fault) return invalid_params(*claim.fault);
  if (!claim.served) return Refusal(unsupported_revision(claim.version));
  return Era::modern;
}

// What the revision of an element depends on; nothing for what is no message.
struct Outline {
  std::string_view method;
  const Json* params = nullptr;
};

Outline outline_of(const RpcItem& item) {
  if (!item) return {};
  if (const auto* request = std::get_if<RpcRequest>(&*item)) return {request->method, &request->params};
  const auto* notification = std::get_if<RpcNotification>(&*item);
  return notification == nullptr ? Outline{} : Outline{notification->method, &notification->params};
}

Json capabilities() { return Json{{"tools", Json::object()}}; }

}  // namespace

Claim claim_of(std::string_view method, const Json& params) {
  const Json* named = meta_member(params, kVersionKey);
  if (named == nullptr) return {};
  Claim claim{.modern = true, .fault = envelope_fault(params)};
  const bool modern = named->is_string() && names_modern_revision(named->get_ref<const std::string&>());
  // Only a sound modern envelope makes a modern request of what is by its name the legacy greeting.
  if (method == "initialize" && (claim.fault || !modern)) return {};
  if (claim.fault) return claim;
  claim.version = named->get<std::string>();
  claim.served = std::ranges::find(kModernRevisions, claim.version) != kModernRevisions.end();
  return claim;
}

std::optional<std::string> batch_fault(const RpcInput& input, std::string_view revision) {
  for (const RpcItem& item : input.items) {
    const Outline outline = outline_of(item);
    if (outline.params == nullptr) continue;
    if (claim_of(outline.method, *outline.params).modern) return "a batch may hold no modern message";
    if (outline.method == "initialize") return "initialize must not come in a batch";
  }
  if (revision == kBatchRevision) return std::nullopt;
  return std::string("only revision ")
      .append(kBatchRevision)
      .append(" has batches; send one message at a time");
}

bool is_legacy_revision(std::string_view version) {
  return std::ranges::find(kLegacyRevisions, version) != kLegacyRevisions.end();
}

bool names_modern_revision(std::string_view version) { return version >= kFirstModern; }

std::string missing_envelope_text() {
  return std::string("the header names a modern revision, but '_meta' of the request lacks ")
      .append(kVersionKey);
}

RpcError unsupported_revision(const std::string& requested) {
  return RpcError{.code = kUnsupportedRevision,
                  .message = "the protocol revision of the request is not served",
                  .data = Json{{"supported", supported_versions()}, {"requested", requested}}};
}

tl::expected<Decision, RpcError> decide(const RpcRequest& request) {
  const Json* meta = member(request.params, "_meta");
  if (meta != nullptr && !meta->is_object()) return invalid_params("'_meta' must be an object");
  const auto era = era_of(request);
  if (!era) return Refusal(era.error());
  const auto* row = std::ranges::find(kMethods, request.method, &Row::name);
  const bool served = row != kMethods.end() && (*era == Era::modern ? row->modern : row->legacy);
  if (served) return Decision{.era = *era, .method = row->method};
  return Refusal(RpcError{.code = RpcError::kMethodNotFound, .message = "the method is not served"});
}

tl::expected<Json, RpcError> initialize_result(const Json& params, const ServerInfo& info,
                                               const std::string& instructions) {
  const Json* requested = member(params, "protocolVersion");
  if (requested == nullptr || !requested->is_string()) {
    return invalid_params("'protocolVersion' must be a string");
  }
  const auto* echoed = std::ranges::find(kLegacyRevisions, requested->get_ref<const std::string&>());
  const auto version = echoed == kLegacyRevisions.end() ? kNewestLegacy : *echoed;
  return Json{{"protocolVersion", version},
              {"capabilities", capabilities()},
              {"serverInfo", {{"name", info.name}, {"title", info.title}, {"version", info.version}}},
              {"instructions", instructions}};
}

Json discover_result(const std::string& instructions) {
  return Json{{"supportedVersions", supported_versions()},
              {"capabilities", capabilities()},
              {"instructions", instructions}};
}

Json dressed(Era era, Json result, const ServerInfo& info, Caching caching) {
  if (era == Era::legacy) return result;
  result["resultType"] = "complete";
  result["_meta"][std::string(kServerInfoKey)] = Json{{"name", info.name}, {"version", info.version}};
  if (caching == Caching::brief) {
    result["ttlMs"] = kCacheMilliseconds;
    result["cacheScope"] = "private";  // the instructions name this user's aliases
  }
  return result;
}

tl::expected<std::optional<Json>, RpcError> progress_token(const Json& params) {
  const Json* token = meta_member(params, "progressToken");
  if (token == nullptr) return std::nullopt;
  if (token->is_string() || token->is_number_integer()) return *token;
  return invalid_params("'progressToken' must be a string or a whole number");
}

RpcId cancelled_id(const Json& params) {
  const Json* id = member(params, "requestId");
  return id == nullptr ? RpcId() : *id;
}

}  // namespace repobridge::mcp
