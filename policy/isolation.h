// What an action's closed room leaves open, and what no room shows.
//
// Promise: the default is the narrowest. home_read names places below the home by paths without "..", none of
// them a place of credentials nor within one. Errors: CONFIG_INVALID with the field. Source: docs/POLICY.md,
// "The room of an action".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::policy {

inline constexpr std::size_t kMaxHomeRead = 64;

struct Isolation {
  bool network = false;                // the host's, or none
  bool private_home = true;            // or the user's, but for credentials
  std::vector<std::string> home_read;  // what a private home has of the user's; relative to it
  bool required = true;                // or: what this host cannot give is done without, and said
};

// Takes the fields network, home, home_read and isolation.
Result<Isolation> read_isolation(Fields& fields);
// Puts them.
void write_isolation(const Isolation& isolation, Json& action);

std::string_view name_of_network(const Isolation& isolation);
std::string_view name_of_home(const Isolation& isolation);

// Where programs keep what proves who their user is: files and directories, relative to a home.
std::span<const std::string_view> credential_places();
// The machine's own, absolute. Only root could read them.
std::span<const std::string_view> system_secrets();

}  // namespace repobridge::policy
