// The tool table: what a client is shown of the four tools.
//
// Promise: one order for ever, all on one page. Names, arguments and answers are a contract, since clients
// keep what they once read; tests/golden/tools_list.json holds every byte of it. Aliases stand in the
// instructions and not here. Source: docs/PROTOCOL.md section 5.
#pragma once

#include "policy/json.h"

namespace repobridge::mcp {

policy::Json tool_table();

}  // namespace repobridge::mcp
