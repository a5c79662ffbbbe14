#include "bridge/actions/trace.h"

#include <unistd.h>

namespace repobridge::actions {

void Trace::add(const platform::FileFacts& facts) {
  digest_.update(std::to_string(facts.identity.device) + ":" + std::to_string(facts.identity.inode) + ":" +
                 std::to_string(facts.changed_ns) + "\n");
  // One page for itself, be it a directory or a link, and those of its bytes.
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  bytes_of_copies_ += page + (facts.is_regular() ? (facts.size_bytes + page - 1) / page * page : 0);
}

}  // namespace repobridge::actions
