// May this be done? The judge of every call: policy, caller and call in, Approved or a refusal out.
//
// Promise: an Approved can be made nowhere else, so work that was not judged does not compile. It refers into
// the policy, which must outlive it.
// Errors: WORKDIR_NOT_FOUND, WORKDIR_READ_ONLY, REPO_ACTION_NOT_FOUND, HIDDEN_PATH_NOT_ALLOWED, DENIED_PATH,
// INVALID_ARGUMENT. A workdir that the caller was not granted is one that does not exist.
#pragma once

#include "platform/result.h"
#include "policy/call.h"
#include "policy/policy.h"

namespace repobridge::policy {

class Approved {
 public:
  [[nodiscard]] const Call& call() const { return call_; }
  // Not for view workdirs.
  [[nodiscard]] const Workdir& workdir() const { return *workdir_; }
  // For run_repo_action only.
  [[nodiscard]] const Action& action() const { return *action_; }

 private:
  friend Result<Approved> decide(const BridgePolicy&, const Front&, Call);
  Approved(Call call, const Workdir* workdir, const Action* action)
      : call_(std::move(call)), workdir_(workdir), action_(action) {}
  Call call_;
  const Workdir* workdir_;
  const Action* action_;
};

Result<Approved> decide(const BridgePolicy& policy, const Front& front, Call call);

// What the front can already say no to, so that a refusal costs no journey. The bridge asks again.
Result<void> precheck(const FrontPolicy& policy, const Call& call);

}  // namespace repobridge::policy
