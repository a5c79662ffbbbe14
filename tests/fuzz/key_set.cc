// A JSON Web Key Set: a list of keys of which each is to verify with, or a refusal.
#include "mcp/key_set.h"

#include "tests/fuzz/target.h"

namespace repobridge::fuzz {

void one_input(std::string_view bytes) {
  const auto keys = mcp::parse_key_set(bytes);
  if (!keys) {
    must(keys.error().code == "OAUTH_KEYS_UNAVAILABLE",
         "a document that is of no use is refused by that name");
    return;
  }
  must(!keys->empty(), "a set that is taken has a key");
  for (const auto& key : *keys) {
    must(!key->fits("none") && !key->fits("HS256"), "no secret is a key");
    must(key->kid().size() <= bytes.size(), "a key has the name that it was given");
  }
}

}  // namespace repobridge::fuzz
