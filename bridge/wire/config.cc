#include "bridge/wire/config.h"

#include "platform/digest.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::wire {
namespace {

Result<std::string> read(const std::string& path) {
  auto text = platform::read_trusted_file(path, kMaxConfigBytes);
  if (text) return text;
  auto error = std::move(text).error();
  return fail(Error{
      .kind = policy::codes::kConfigUnreadable.kind,
      .code = std::string(policy::codes::kConfigUnreadable.name),
      .message = "the configuration cannot be read (" + error.message + "); `repobridge render` writes it",
      .os_code = error.os_code});
}

Failure invalid(const std::string& problem) {
  return policy::refuse(
      policy::codes::kConfigInvalidSetting,
      "the configuration is not as this version renders it (" + problem + "); run `repobridge render`");
}

template <class P>
Result<P> parse(std::string_view text, Result<P> (*from_json)(const policy::Json&)) {
  const auto value = policy::parse_json(text);
  if (!value) return invalid(value.error().what);
  auto policy = from_json(*value);
  if (!policy) return invalid(policy.error().message);
  return policy;
}

}  // namespace

Result<policy::BridgePolicy> parse_bridge_policy(std::string_view text) {
  RB_TRY(auto policy, parse(text, policy::bridge_policy_from_json));
  if (policy.digest != platform::sha256_hex(policy::digest_input(policy))) {
    return invalid("its digest is not that of its contents");
  }
  return policy;
}

Result<policy::FrontPolicy> parse_front_policy(std::string_view text) {
  return parse(text, policy::front_policy_from_json);
}

Result<policy::BridgePolicy> load_bridge_policy(const std::string& path) {
  RB_TRY(const auto text, read(path));
  return parse_bridge_policy(text);
}

Result<policy::FrontPolicy> load_front_policy(const std::string& path) {
  RB_TRY(const auto text, read(path));
  return parse_front_policy(text);
}

}  // namespace repobridge::wire
