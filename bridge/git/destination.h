// Where a push really goes, and whether policy lets it: the URL that the repository's configuration names is
// rewritten by url.<base>.insteadOf and pushInsteadOf of the user's configuration, and what comes of that is
// what the administrator must have allowed.
//
// Source: git-config(1), url.<base>.insteadOf; docs/POLICY.md, "Push".
#pragma once

#include <string>
#include <string_view>

#include "platform/result.h"
#include "policy/policy.h"

namespace repobridge::git {

// What git makes of a remote's URL.
struct Destination {
  std::string fetch;
  std::string push;
};

// From the text of `git remote -v`. REPO_PUSH_FAILED when it does not name `remote` exactly once each way.
Result<Destination> parse_destination(std::string_view listing, std::string_view remote);

// Whether policy lets a push go there. REPO_PUSH_NOT_ALLOWED; `rewritten` words it.
Result<void> check_push_url(const policy::BridgePolicy& policy, const policy::Workdir& workdir,
                            const policy::PushUrl& url, bool rewritten);
// REPO_PUSH_BRANCH_NOT_ALLOWED.
Result<void> check_push_branch(const policy::Workdir& workdir, std::string_view branch,
                               std::string_view upstream_branch);

}  // namespace repobridge::git
