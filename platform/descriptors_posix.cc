#include <sys/resource.h>

#include <algorithm>

#include "platform/descriptors.h"

namespace repobridge::platform {

void make_room_for_descriptors(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace repobridge::platform
