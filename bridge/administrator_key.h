// The key by which the administrator's command proves itself to a running bridge. It lies in the state
// directory and is made anew at each start of the bridge; no front may have its name.
//
// Errors: those of wire/key.h.
#pragma once

#include <string>
#include <string_view>

#include "bridge/wire/key.h"
#include "platform/result.h"

namespace repobridge::bridge {

inline constexpr std::string_view kAdministrator = "administrator";

// In place of an earlier life's.
Result<wire::Key> make_administrator_key(const std::string& state_dir);
Result<wire::Key> read_administrator_key(const std::string& state_dir);

}  // namespace repobridge::bridge
