#include "bridge/actions/trace.h"

namespace repobridge::actions {

void Trace::add(const platform::FileFacts& facts) {
  digest_.update(std::to_string(facts.identity.device) + ":" + std::to_string(facts.identity.inode) + ":" +
                 std::to_string(facts.changed_ns) + "\n");
}

}  // namespace repobridge::actions
