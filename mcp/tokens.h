// Bearer tokens: which of them a request carries.
//
// Promise: digests of the same length are compared in constant time, with every token, whichever matches. The
// files are read anew for each request, so a token is rotated or withdrawn without a restart; one that cannot
// be read lets nobody in. Errors: 401 invalid_token; 503 when not one can be read.
// Source: RFC 6750.
#pragma once

#include <functional>
#include <vector>

#include "mcp/access.h"
#include "platform/result.h"
#include "policy/http_policy.h"

namespace repobridge::mcp {

CheckAccess check_tokens(std::vector<policy::BearerToken> tokens, std::function<void(const Error&)> report);

// The same, but who shows nothing is let in too, as `anonymous`.
CheckAccess or_anybody(CheckAccess check);

}  // namespace repobridge::mcp
