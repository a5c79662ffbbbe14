// The bridge's log: on standard error, one line a fault, for the administrator.
//
// Promise: codes, names and numbers; never content, messages of callers, paths or secrets.
#pragma once

#include <string_view>

#include "platform/result.h"

namespace repobridge::bridge {

void start_log();
void log_fault(const Error& error);
void log_refused_connection(const Error& error);
void log_event(std::string_view event);

}  // namespace repobridge::bridge
