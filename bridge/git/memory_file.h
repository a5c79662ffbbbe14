// Bytes as a file without a name: what libgit2 wants a path for, and nobody else may change.
// Source: memfd_create(2), proc(5).
#pragma once

#include <string>
#include <string_view>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::git {

Result<platform::UniqueFd> memory_file(std::string_view bytes);
// A path by which this process opens the file behind a descriptor of its own.
std::string path_of_descriptor(int fd);

}  // namespace repobridge::git
