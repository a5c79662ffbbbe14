// The private copy of an index: a checksum in place of zeros, and nothing else changed.
#include "bridge/git/repository.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {

void one_input(std::string_view bytes) {
  constexpr std::size_t kChecksum = 20;
  const std::string before(bytes);
  const auto after = git::with_checksum(before);
  must(after.size() == before.size(), "its length stays");
  if (before.size() <= kChecksum) {
    must(after == before, "what is too short stays as it is");
    return;
  }
  const auto body = before.size() - kChecksum;
  must(after.compare(0, body, before, 0, body) == 0, "its entries stay");
  const bool had_one = before.find_first_not_of('\0', body) != std::string::npos;
  must(!had_one || after == before, "a checksum that was there stays, be it right or wrong");
  must(git::with_checksum(after) == after, "it is done once");
}

}  // namespace repobridge::fuzz
