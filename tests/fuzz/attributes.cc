// Attribute files: what is accepted has no line that git and libgit2 read in two ways, wherever it stands.
#include "bridge/git/attributes.h"

#include "policy/codes.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

bool accepts(std::string_view text) {
  const auto checked = git::check_attribute_text(text, "place");
  must(checked || checked.error().code == policy::codes::kUnsupportedAttributes.name,
       "a refusal is REPO_UNSUPPORTED_ATTRIBUTES");
  return checked.has_value();
}

}  // namespace

void one_input(std::string_view bytes) {
  const std::string text(bytes);
  const bool accepted = accepts(text);
  must(accepts(text + "\n") == accepted, "a line's end at the end changes nothing");
  must(accepts("*.a text\n" + text + "\n*.b text\n") == accepted || text.starts_with("\xef\xbb\xbf"),
       "lines around it change nothing");
  must(!accepts(text + "\n \t\"quoted\" filter=x\n"), "a quoted pattern is seen after anything");
  must(!accepts(text + "\n" + std::string(git::kMaxAttributeLineBytes + 1, 'x')),
       "and so is a line too long");
}

}  // namespace repobridge::fuzz
