// Messages of both directions: encoding what was decoded says the same as the text did, and encoding is
// stable from then on.
#include "bridge/wire/message.h"

#include "policy/codes.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

template <class Message>
void check(std::string_view text, Result<Message> (*decode)(std::string_view)) {
  const auto message = decode(text);
  if (!message) {
    must(message.error().code == policy::codes::kInvalidRequest.name, "a refusal is INVALID_REQUEST");
    return;
  }
  const auto plain = policy::dump_json(*policy::parse_json(text));
  const std::string encoded = wire::encode(*message);
  must(encoded == plain, "decode then encode gives the same bytes");
  const auto again = decode(encoded);
  must(again && wire::encode(*again) == encoded, "what was encoded is decoded");
}

}  // namespace

void one_input(std::string_view bytes) {
  check(bytes, wire::decode_from_client);
  check(bytes, wire::decode_from_server);
}

}  // namespace repobridge::fuzz
