// How many descriptors this process may have.
//
// Promise: room for `count`, or for as many as this user may have at all where that is less; never for fewer
// than before. What is started later inherits it. Threads: any, but others see it at once. Errors: none; who
// needs more than there are meets EMFILE. Source: getrlimit(2), RLIMIT_NOFILE.
#pragma once

#include <cstddef>

namespace repobridge::platform {

void make_room_for_descriptors(std::size_t count);

}  // namespace repobridge::platform
