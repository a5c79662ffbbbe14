// What well-known tools read of the directory they are started in without being told: whoever may write one
// of these files has a say in what an approved action does, though its argument vector names none of them.
//
// Promise: a table and no more; a tool that it does not know reads nothing here, and a version may read more.
// It is for advice at rendering. Pure. Source: the tools' own documentation; docs/POLICY.md, "Rendering".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace repobridge::policy {

// By the file name of the program, without its directory and version: "/usr/bin/python3.11" is "python".
std::string tool_name(std::string_view program);

struct ToolReads {
  std::string tool;
  std::vector<std::string> names;  // at the top of the workdir; a directory ends in a slash
  bool beside_script = false;      // and whatever lies in the directory of the script
};

// Empty for a tool that is not known.
ToolReads read_unasked(std::string_view program);

// The files that a makefile includes by a plain name; names with a variable or a pattern are passed over.
std::vector<std::string> makefile_includes(std::string_view makefile);

}  // namespace repobridge::policy
