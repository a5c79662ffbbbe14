#include "policy/codes.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include "policy/json.h"

namespace repobridge::policy {
namespace {

#define RB_POLICY_CODE(constant, text, kind_name) codes::constant,
constexpr std::array kAllCodes = {RB_POLICY_CODES(RB_POLICY_CODE)};
#undef RB_POLICY_CODE

}  // namespace

std::span<const Code> all_codes() { return kAllCodes; }

const Code* find_code(std::string_view name) {
  const auto* found = std::ranges::find(kAllCodes, name, &Code::name);
  return found == kAllCodes.end() ? nullptr : found;
}

Failure refuse(const Code& code, std::string message) {
  return fail(Error{.kind = code.kind, .code = std::string(code.name), .message = std::move(message)});
}

Failure refuse(const Code& code, std::string message, nlohmann::json details) {
  return fail(Error{.kind = code.kind,
                    .code = std::string(code.name),
                    .message = std::move(message),
                    .details = std::make_shared<const nlohmann::json>(std::move(details))});
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::invalid:
      return "invalid";
    case Kind::forbidden:
      return "forbidden";
    case Kind::not_found:
      return "not_found";
    case Kind::conflict:
      return "conflict";
    case Kind::busy:
      return "busy";
    case Kind::unsupported:
      return "unsupported";
    case Kind::too_large:
      return "too_large";
    case Kind::timeout:
      return "timeout";
    case Kind::unavailable:
      return "unavailable";
    case Kind::internal:
      return "internal";
    case Kind::secret_blocked:
      return "secret_blocked";
  }
  std::abort();
}

int status_of(Kind kind) {
  switch (kind) {
    case Kind::invalid:
      return 400;
    case Kind::forbidden:
    case Kind::secret_blocked:
      return 403;
    case Kind::not_found:
      return 404;
    case Kind::conflict:
      return 409;
    case Kind::too_large:
      return 413;
    case Kind::unsupported:
      return 422;
    case Kind::busy:
      return 423;
    case Kind::internal:
      return 500;
    case Kind::unavailable:
      return 503;
    case Kind::timeout:
      return 504;
  }
  std::abort();
}

}  // namespace repobridge::policy
