// The time of day, as the audit and answers write it. RFC 3339, UTC, milliseconds.
#pragma once

#include <string>

namespace repobridge::bridge {

std::string utc_now();

}  // namespace repobridge::bridge
