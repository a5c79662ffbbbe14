// The actions' JSON: what is accepted can be written and read back the same, and a refusal names the
// variable.
#include "policy/actions.h"

#include "policy/codes.h"
#include "policy/invocation.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {

void one_input(std::string_view bytes) {
  const std::string variable = "WORKDIR_01_REPO_ACTIONS_JSON";
  const auto actions = policy::parse_actions(bytes, variable, policy::Digests::required);
  const auto unpinned = policy::parse_actions(bytes, variable, policy::Digests::placeholders_allowed);
  if (!actions) {
    must(actions.error().code == policy::codes::kConfigInvalidSetting.name, "a refusal is CONFIG_INVALID");
    must(actions.error().message.starts_with(variable + ": "), "a refusal names the variable");
    return;
  }
  must(unpinned.has_value(), "a placeholder may be a digest");
  for (const auto& [name, action] : *actions) {
    must(!action.argv.empty() && !action.argv.front().empty(), "an action has a program");
    must(!action.integrity.empty(), "an action pins a file");
    for (const auto& [path, pin] : action.integrity) {
      const bool absent = pin.kind == policy::PinKind::absent;
      must(absent ? pin.digest.empty() : policy::is_sha256_hex(pin.digest), "a pin is a digest or absent");
      must(policy::covers(action.integrity, path), "a pin covers its own path");
    }
    const auto invocation = policy::read_invocation(action.argv);
    for (const auto& one : invocation.executed)
      must(one.element < action.argv.size(), "argv has what is executed");
    const auto timeout = action.timeout.value_or(policy::kMaxActionTimeout);
    must(timeout <= policy::kMaxActionTimeout && timeout.count() > 0, "a run has an end");
  }
  const policy::Json written = policy::to_json(*actions);
  const auto again = policy::actions_from_json(written, variable, policy::Digests::required);
  must(again && policy::to_json(*again) == written, "what was written is read back");
}

}  // namespace repobridge::fuzz
