// The env file that `repobridge init` writes: every setting with its default or an example.
//
// Promise: it parses as it is, and renders once WORKDIR_01_ALIAS and WORKDIR_01_PATH are filled in; each
// commented setting is accepted when its mark is taken away. Tests hold it to that and to naming every
// setting that policy/settings.cc knows.
#pragma once

#include <string_view>

namespace repobridge::admin {

extern const std::string_view kExampleEnv;

}  // namespace repobridge::admin
