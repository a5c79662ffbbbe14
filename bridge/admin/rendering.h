// From settings to the two policies: everything that only the host can say is asked here.
//
// Promise: what comes out was read back by the very functions that the programs read it with. None of our own
// files lies inside a workdir, nor could another user replace one. Nothing is written.
// Errors: CONFIG_INVALID, naming the variable and the JSON path.
#pragma once

#include <string>
#include <vector>

#include "bridge/admin/roots.h"
#include "bridge/admin/unasked.h"
#include "platform/result.h"
#include "policy/settings.h"

namespace repobridge::admin {

struct RenderRequest {
  policy::Settings settings;
  std::string env_file;
  std::string out;          // an existing directory, absolute and without links
  std::string home;         // of the user the bridge will run as
  std::string search_path;  // the administrator's PATH
};

// What an action reads of its workdir though nothing pins it.
struct RenderWarning {
  std::string workdir;
  std::string action;
  Unpinned unpinned;
};

struct Rendering {
  policy::BridgePolicy bridge;
  std::string bridge_json;
  std::string front_json;
  std::vector<std::string> switched_off;  // aliases of workdirs without REPO_OPS_ENABLED
  std::vector<RenderWarning> warnings;
};

Result<Rendering> make_rendering(const RenderRequest& request);

}  // namespace repobridge::admin
