// HTTP connections beneath TLS, where no proxy or tunnel in front does that.
//
// Promise: TLS 1.2 or newer; the certificate's key must be a file that nobody but this user could have read.
// Both files are read once, at the start. Errors: TLS_FILES_UNUSABLE.
#pragma once

#include "mcp/http_server.h"
#include "platform/result.h"
#include "policy/http_policy.h"

namespace repobridge::mcp {

Result<MakeStream> tls_streams(const policy::TlsFiles& files);

}  // namespace repobridge::mcp
