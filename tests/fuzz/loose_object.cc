// The file of a loose object: what is read is as long as it says, and no input makes more of it.
#include "bridge/git/loose_objects.h"

#include "tests/fuzz/target.h"

namespace repobridge::fuzz {

void one_input(std::string_view bytes) {
  constexpr std::uint64_t kMost = 1U << 20U;
  const auto object = git::parse_loose_object(bytes, kMost);
  if (!object) {
    const auto& code = object.error().code;
    must(code == "OBJECT_DAMAGED" || code == "FILE_TOO_LARGE", "a refusal is one of the two");
    return;
  }
  must(object->content.size() == object->size_bytes, "the content is as long as the header says");
  must(object->size_bytes <= kMost, "and no longer than was asked for");
  must(git_object_typeisloose(object->type) != 0, "the type is one that can be stored");
  must(!git::parse_loose_object(std::string(bytes) + "x", kMost), "one byte more is noticed");
  must(!git::parse_loose_object(bytes.substr(0, bytes.size() - 1), kMost), "and so is one less");
}

}  // namespace repobridge::fuzz
