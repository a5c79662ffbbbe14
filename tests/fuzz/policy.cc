// bridge.json and front.json: parse, print, parse is stable.
#include "policy/policy.h"

#include "policy/codes.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

template <class P>
void check(const policy::Json& value, Result<P> (*from_json)(const policy::Json&)) {
  const auto parsed = from_json(value);
  if (!parsed) {
    must(!parsed.error().message.empty() && parsed.error().kind != Kind::internal, "a refusal says why");
    return;
  }
  const policy::Json printed = policy::to_json(*parsed);
  const auto again = from_json(printed);
  must(again && policy::to_json(*again) == printed, "parse, print, parse is stable");
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto value = policy::parse_json(bytes);
  if (!value) return;
  check(*value, policy::bridge_policy_from_json);
  check(*value, policy::front_policy_from_json);
}

}  // namespace repobridge::fuzz
