#include "bridge/git/destination.h"

#include <algorithm>
#include <optional>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;

// The URL of the one line that is REMOTE TAB URL SUFFIX.
std::optional<std::string> only_url(std::string_view listing, std::string_view remote,
                                    std::string_view suffix) {
  const std::string prefix = std::string(remote) + "\t";
  std::optional<std::string> found;
  for (const auto& line : policy::split(listing, '\n')) {
    if (line.size() < prefix.size() + suffix.size() || !line.starts_with(prefix) || !line.ends_with(suffix)) {
      continue;
    }
    if (found) return std::nullopt;
    found = line.substr(prefix.size(), line.size() - prefix.size() - suffix.size());
  }
  return found;
}

}  // namespace

Result<Destination> parse_destination(std::string_view listing, std::string_view remote) {
  const auto fetch = only_url(listing, remote, " (fetch)");
  const auto push = only_url(listing, remote, " (push)");
  if (!fetch || !push) {
    return policy::refuse(codes::kPushFailed,
                          "git does not say where it would push to; look after the remotes in the global git "
                          "configuration of the bridge's user");
  }
  return Destination{.fetch = *fetch, .push = *push};
}

Result<void> check_push_url(const policy::BridgePolicy& policy, const policy::Workdir& workdir,
                            const policy::PushUrl& url, bool rewritten) {
  if (workdir.push.url && workdir.push.url->text() == url.text()) return {};
  const bool below_prefix = std::ranges::any_of(
      policy.push_allowed, [&](const policy::PushAllowance& allowance) { return allowance.allows(url); });
  if (below_prefix) return {};
  if (rewritten) {
    return policy::refuse(
        codes::kPushNotAllowed,
        "the global git configuration (url.<base>.insteadOf or pushInsteadOf) leads the upstream's URL to a "
        "place that the administrator has not allowed; what git makes of the URL must be in "
        "WORKDIR_XX_PUSH_URL "
        "or REPOBRIDGE_PUSH_ALLOWED");
  }
  return policy::refuse(
      codes::kPushNotAllowed,
      "the administrator has not allowed pushes to the upstream's remote (WORKDIR_XX_PUSH_URL or "
      "REPOBRIDGE_PUSH_ALLOWED)");
}

Result<void> check_push_branch(const policy::Workdir& workdir, std::string_view branch,
                               std::string_view upstream_branch) {
  if (policy::push_branch_allowed(workdir.push.branches, branch, upstream_branch)) return {};
  return policy::refuse(
      codes::kPushBranchNotAllowed,
      "policy does not allow pushes to the upstream's branch (WORKDIR_XX_PUSH_BRANCHES); without "
      "that setting it must have the local branch's name");
}

}  // namespace repobridge::git
