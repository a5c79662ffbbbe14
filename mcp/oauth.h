// The resource server's decision: whether the token of a request lets its caller in, and what to tell one
// whom it does not.
//
// Promise: a caller is let in by a token that the issuer signed with a key of its own, by an allowed
// algorithm, for this resource, at this time, for a subject that is allowed, with the scope repo:read; with
// repo:write as well it may write. Nothing else of a request counts. A refusal repeats nothing of the token.
// Every refusal carries what a client needs to begin again: RFC 6750's challenge with the address of the
// metadata. Errors: Challenge; 401 without a token or with one that proves nothing, 403 with one that may
// not, 503 while the issuer's keys cannot be had. Threads: the event loop's one. Units: seconds. Source: RFC
// 6750, 8707, 9068, 9728; MCP 2026-07-28, "Authorization".
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "mcp/access.h"
#include "mcp/key_set.h"
#include "policy/oauth.h"

namespace repobridge::mcp {

inline constexpr std::string_view kReadScope = "repo:read";
inline constexpr std::string_view kWriteScope = "repo:write";

using WallClock = std::function<std::chrono::system_clock::time_point()>;

CheckAccess oauth_access(policy::OauthPolicy policy, std::shared_ptr<KeySet> keys,
                         WallClock now = std::chrono::system_clock::now);

// Lets in whom `first` or `oauth` lets in. Whom neither does hears the second's refusal, which says how to
// get a token.
CheckAccess or_oauth(CheckAccess first, CheckAccess oauth);

// The keys that `policy` names, read when they are needed.
std::shared_ptr<KeySet> oauth_keys(asio::any_io_executor executor, const policy::OauthPolicy& policy,
                                   std::function<void(const Error&)> report);

// For a caller that may look and asks to write.
Challenge write_scope_missing(const policy::OauthPolicy& policy);

// The documents by which a client learns whose tokens to bring: from the exact path of a GET to JSON. Anybody
// may read them, from anywhere.
std::map<std::string, std::string> protected_resource_metadata(const policy::OauthPolicy& policy);

}  // namespace repobridge::mcp
