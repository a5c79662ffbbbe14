// The strict reader against the library's own: it accepts the same texts and reads the same values, but for
// what it is stricter about.
#include "policy/json.h"

#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

using policy::Json;

// What only the strict reader refuses, seen with the library's parser alone.
class Strictness {
 public:
  explicit Strictness(std::string_view text) {
    [[maybe_unused]] const Json unused = Json::parse(
        text,
        [this](int depth, Json::parse_event_t event, Json& value) {
          see(static_cast<std::size_t>(depth), event, value);
          return true;
        },
        false);
  }

  [[nodiscard]] bool refuses() const { return deep_ || repeated_; }

 private:
  void see(std::size_t depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      deep_ = deep_ || depth >= policy::kMaxJsonDepth;
      keys_.resize(depth + 1);
      keys_[depth].clear();
    } else if (event == Event::key) {
      repeated_ = repeated_ || !keys_[depth - 1].insert(value.get<std::string>()).second;
    }
  }

  std::vector<std::set<std::string>> keys_;  // of the objects that are open, by depth
  bool deep_ = false;
  bool repeated_ = false;
};

}  // namespace

void one_input(std::string_view bytes) {
  const auto strict = policy::parse_json(bytes);
  const auto loose = Json::parse(bytes, nullptr, false);

  if (!strict) {
    must(strict.error().at_byte <= bytes.size() + 1, "a fault lies in the text");
    // The library passes over a mark and takes a NUL for the end.
    const bool beside = bytes.starts_with("\xef\xbb\xbf") || bytes.find('\0') != std::string_view::npos;
    must(loose.is_discarded() || beside || Strictness(bytes).refuses(),
         "refused is what the library refuses, a duplicate key, depth, or bytes beside the value");
    return;
  }
  must(!loose.is_discarded() && loose == *strict, "both readers read the same value");
  must(!Strictness(bytes).refuses(), "duplicate keys and depth are refused");
  const std::string dumped = policy::dump_json(*strict);
  const auto again = policy::parse_json(dumped);
  must(again && *again == *strict, "what was written is read back");
  must(policy::dump_json(*again) == dumped, "writing is stable");
}

}  // namespace repobridge::fuzz
