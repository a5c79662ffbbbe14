// The front's log: on standard error, one line a fault, for the administrator.
//
// Promise: codes, names and numbers; never content, messages of callers, paths or secrets. A front that has
// nothing to say says nothing.
#pragma once

#include <string>

#include "platform/result.h"

namespace repobridge::mcp {

void start_log();
void log_failed_call(const Error& error);
// What the administrator should know although nothing failed.
void log_warning(const std::string& text);

}  // namespace repobridge::mcp
