#include "bridge/git/push_plan.h"

#include "bridge/git/history.h"
#include "bridge/git/layout.h"
#include "bridge/git/reference.h"
#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;

Result<std::string> remote_url(const LocalConfig& config, const std::string& remote) {
  const auto urls = config.all("remote." + remote + ".url");
  const auto push_urls = config.all("remote." + remote + ".pushurl");
  if (urls.size() > 1 || push_urls.size() > 1) {
    return policy::refuse(
        codes::kAmbiguousRemote,
        "the upstream's remote has more than one URL, and one push goes to one place; keep one");
  }
  if (!push_urls.empty()) return push_urls.front();
  if (urls.empty()) {
    return policy::refuse(codes::kNoUpstream, "the branch's upstream names a remote that has no URL");
  }
  return urls.front();
}

// For the conditions of the user's includes. The bridge matches them, so they are few and short: what is
// longer is no URL that one would write a condition for.
Json some_of(const std::vector<std::string>& urls) {
  constexpr std::size_t kMost = 100;
  constexpr std::size_t kLongest = 1024;
  Json some = Json::array();
  for (const auto& url : urls) {
    if (some.size() < kMost && url.size() <= kLongest && policy::is_utf8(url)) some.push_back(url);
  }
  return some;
}

}  // namespace

Result<Json> plan_push(const Repository& repository) {
  RB_TRY(const auto head, repository.head());
  if (head.detached()) {
    return policy::refuse(codes::kDetachedHead,
                          "HEAD is detached, so there is no branch to push; switch to one first");
  }
  if (!head.oid) return policy::refuse(codes::kNothingToPush, "the branch has no commit yet");
  const auto upstream = repository.upstream_of(head);
  if (!upstream) {
    return policy::refuse(codes::kNoUpstream,
                          "the branch follows no branch of a remote, and none is guessed; set it once with "
                          "git branch --set-upstream-to, or push it once with git push -u");
  }
  RB_TRY(const auto url, remote_url(repository.config(), upstream->remote));
  RB_TRY(const auto history, History::of(repository));
  return Json{{"url", url},
              {"remote_urls", some_of(repository.remote_urls())},
              {"branch", head.branch()},
              {"upstream_branch", upstream->branch()},
              {"reference", upstream->reference},
              {"tracking", upstream->tracking},
              {"oid", hex_of(*head.oid)},
              {"shallow", history.shallow_text() ? Json(*history.shallow_text()) : Json()}};
}

Result<bool> must_track(const Repository& repository, const std::string& tracking, const git_oid& oid) {
  RB_CHECK(audit_layout(repository.git_directory(), {tracking}));
  // Whoever works here may have thrown the commit away while it was pushed.
  OwnedCommit commit;
  RB_CHECK(git_check(git_commit_lookup(into(commit), repository.get(), &oid), "read the pushed commit"));
  RB_TRY(const auto now, repository.value_of(tracking));
  if (!now) RB_CHECK(check_name_free(repository, tracking));
  return !now || git_oid_equal(&*now, &oid) == 0;
}

Result<void> track(const Repository& repository, const std::string& tracking, const git_oid& oid) {
  RB_TRY(const auto now, repository.value_of(tracking));
  OwnedSignature who;
  if (git_signature_default(into(who), repository.get()) < 0) {
    git_error_clear();
    RB_CHECK(git_check(git_signature_now(into(who), "unknown", "unknown"), "sign a log's line"));
  }
  return log_move(repository, tracking, {.reference = tracking, .from = now, .to = oid}, *who,
                  "update by push");
}

}  // namespace repobridge::git
