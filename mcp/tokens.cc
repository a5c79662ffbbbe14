#include "mcp/tokens.h"

#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "bridge/wire/token.h"
#include "platform/digest.h"
#include "policy/text.h"

namespace repobridge::mcp {
namespace {

using Answer = tl::expected<Access, Challenge>;

// What stands after "Bearer"; empty when it is another scheme, or nothing.
std::string presented(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  const bool bearer = authorization.size() > kScheme.size() &&
                      policy::lower_ascii(authorization.substr(0, kScheme.size())) == kScheme;
  if (!bearer) return {};
  const auto begin = authorization.find_first_not_of(' ', kScheme.size());
  return begin == std::string_view::npos ? std::string() : std::string(authorization.substr(begin));
}

Challenge refused(bool shown) {
  return Challenge{.www_authenticate = shown ? R"(Bearer realm="repobridge", error="invalid_token")"
                                             : R"(Bearer realm="repobridge")",
                   .error = "invalid_token",
                   .message = shown ? "the bearer token is not one of this server's"
                                    : "this server takes a bearer token in the Authorization header"};
}

Challenge unknowable() {
  constexpr int kUnavailable = 503;
  return Challenge{.status = kUnavailable,
                   .error = "temporarily_unavailable",
                   .message = "no token can be checked now; the administrator looks after the token files"};
}

}  // namespace

CheckAccess check_tokens(std::vector<policy::BearerToken> tokens, std::function<void(const Error&)> report) {
  return [tokens = std::move(tokens),
          report = std::move(report)](std::string authorization) -> asio::awaitable<Answer> {
    const std::string token = presented(authorization);
    const std::string digest = platform::sha256_hex(token);
    std::optional<Access> access;
    bool readable = false;
    for (const auto& one : tokens) {
      const auto secret = wire::read_token(one.file);
      if (!secret) report(secret.error());
      readable |= secret.has_value();
      const bool same = secret && platform::same_digest(digest, platform::sha256_hex(*secret));
      if (same) access = Access{.login = one.name, .mode = "token", .write = !one.read_only};
    }
    if (access) co_return *std::move(access);
    if (!readable) co_return tl::unexpected(unknowable());
    co_return tl::unexpected(refused(!authorization.empty()));
  };
}

CheckAccess or_anybody(CheckAccess check) {
  return [check = std::move(check)](std::string authorization) -> asio::awaitable<Answer> {
    if (authorization.empty()) co_return Access{.login = "anonymous", .mode = "open", .write = true};
    co_return co_await check(std::move(authorization));
  };
}

}  // namespace repobridge::mcp
