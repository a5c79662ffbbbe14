#include "bridge/git/push.h"

#include <algorithm>

#include "bridge/environment.h"
#include "bridge/git/push_report.h"
#include "bridge/git/transport.h"
#include "bridge/git/worker.h"
#include "bridge/git/worker_pool.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using bridge::CallContext;
using bridge::Parts;
using policy::Json;
using policy::PushUrl;
using policy::Workdir;

// A remote with a hundred thousand branches still fits.
constexpr std::size_t kMaxListingBytes = 16U << 20U;
constexpr std::size_t kMaxReportBytes = 1U << 20U;

// What the repository says about where its branch goes.
struct Plan {
  std::string branch;
  std::string upstream_branch;
  std::string reference;
  std::string tracking;
  std::string oid;
  Json shallow;
  std::optional<PushUrl> url;
};

Result<Plan> read_plan(const Json& data) {
  RB_TRY(auto fields, policy::Fields::of(data, "", codes::kInternalError));
  Plan plan;
  RB_TRY(plan.branch, fields.text("branch"));
  RB_TRY(plan.upstream_branch, fields.text("upstream_branch"));
  RB_TRY(plan.reference, fields.text("reference"));
  RB_TRY(plan.tracking, fields.text("tracking"));
  RB_TRY(plan.oid, fields.text("oid"));
  RB_TRY(const auto url, fields.text("url"));
  RB_TRY(plan.url, PushUrl::parse(url));
  plan.shallow = data.value("shallow", Json());
  return plan;
}

// One push from its plan to the moved tracking branch. Lives as long as push() waits for it.
class Push {
 public:
  Push(CallContext context, Parts& parts, const runs::Lease& lease, const Workdir& workdir, bool& proven)
      : context_(context), parts_(&parts), lease_(&lease), workdir_(&workdir), proven_(&proven) {}

  asio::awaitable<Result<Json>> perform() {
    Json question{{"op", "plan_push"}};
    RB_CO_TRY(const auto data, co_await ask(std::move(question)));
    RB_CO_TRY(plan_, read_plan(data));
    RB_CO_CHECK(
        check_destination(parts_->policy, *workdir_, *plan_.url, plan_.branch, plan_.upstream_branch));
    RB_CO_TRY(transport_, Transport::make(parts_->policy.state_dir, workdir_->path, plan_.shallow));
    RB_CO_TRY(const auto heads, co_await remote_heads());
    RB_CO_TRY(const auto outgoing, co_await inspect(heads));
    RB_CO_CHECK(check_made_here(outgoing["commits"]));
    const bool up_to_date = outgoing["up_to_date"].get<bool>();
    if (!up_to_date) RB_CO_CHECK(co_await send());
    RB_CO_CHECK(co_await track());
    co_return answer(heads, outgoing, up_to_date);
  }

 private:
  asio::awaitable<Result<Json>> ask(Json question) {
    co_return co_await parts_->workers.ask(context_, *parts_, workdir_->path, std::move(question));
  }

  asio::awaitable<Result<void>> track() {
    WorkerOrder order{.root = workdir_->path, .power = Power::track, .lease = lease_->descriptor()};
    RB_CO_TRY(auto worker, co_await Worker::start(context_, *parts_, std::move(order)));
    Json question{{"op", "track"}, {"tracking", plan_.tracking}, {"oid", plan_.oid}};
    co_return (co_await worker.ask(context_, std::move(question))).map([](const Json&) {});
  }

  asio::awaitable<Result<runs::RunOutcome>> run_git(std::vector<std::string> arguments,
                                                    std::size_t max_output) {
    runs::RunRequest request;
    request.supervisor = parts_->programs.supervisor;
    request.argv = Transport::git_command(parts_->programs.git, transport_->directory());
    request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
    request.environment = bridge::push_environment(plan_.url->protocol(), transport_->directory());
    request.directory = transport_->descriptor();
    request.limit = context_.deadline.left();
    request.max_output_bytes = max_output;
    auto outcome = co_await runs::run_supervised(context_, *lease_, std::move(request));
    if (!outcome) co_return outcome;
    *proven_ = *proven_ && outcome->proven;
    switch (outcome->reason) {
      case runs::EndReason::itself:
        co_return outcome;
      case runs::EndReason::cancelled:
        co_return policy::refuse(codes::kCallCancelled, "the call was given up");
      case runs::EndReason::deadline:
        co_return policy::refuse(
            codes::kPushTimeout,
            "the remote did not answer in time; whether the push arrived is not known, so look at "
            "status after a fetch");
      case runs::EndReason::output_limit:
        co_return policy::refuse(codes::kPushFailed, "the remote said more than is read; git was stopped");
    }
    co_return outcome;
  }

  asio::awaitable<Result<std::vector<RemoteHead>>> remote_heads() {
    std::vector<std::string> arguments{"ls-remote", "--heads", "--", plan_.url->text()};
    RB_CO_TRY(const auto outcome, co_await run_git(std::move(arguments), kMaxListingBytes));
    if (outcome.exit_code != 0) {
      // The same reading as a push's: there is no line for the reference, so it says why as far as it can.
      const auto report = read_push_report("", outcome.err.bytes, plan_.reference);
      co_return fail(report.error());
    }
    co_return parse_remote_heads(outcome.out.bytes);
  }

  asio::awaitable<Result<Json>> inspect(std::vector<RemoteHead> heads) {
    Json oids = Json::array();
    Json question{{"op", "inspect_outgoing"},
                  {"oid", plan_.oid},
                  {"rules", workdir_->rules.to_json()},
                  {"ci_changes_allowed", workdir_->push.ci_changes}};
    for (const auto& head : heads) {
      oids.push_back(head.oid);
      if (head.reference == plan_.reference) question["remote_tip"] = head.oid;
    }
    question["remote_heads"] = std::move(oids);
    // Where history ends is said once: git and our check must see the same one.
    if (!plan_.shallow.is_null()) question["shallow"] = plan_.shallow;
    co_return co_await ask(std::move(question));
  }

  [[nodiscard]] Result<void> check_made_here(const Json& commits) const {
    if (!workdir_->push.only_bridge_commits) return {};
    RB_TRY(const auto made, parts_->ledger.all());
    for (const auto& commit : commits) {
      if (made.contains(commit["oid"].get<std::string>())) continue;
      return policy::refuse(
          codes::kPushForeignCommit,
          "a commit that would be pushed was not made by the bridge, and policy pushes no other "
          "(WORKDIR_XX_PUSH_ONLY_BRIDGE_COMMITS); push it with git",
          Json{{"commit", commit["oid"]}});
    }
    return {};
  }

  asio::awaitable<Result<void>> send() {
    std::vector<std::string> arguments{"push",
                                       "--porcelain",
                                       "--no-verify",
                                       "--no-follow-tags",
                                       "--no-signed",
                                       "--recurse-submodules=no",
                                       "--no-progress",
                                       "--receive-pack=git-receive-pack",
                                       "--",
                                       plan_.url->text(),
                                       plan_.oid + ":" + plan_.reference};
    RB_CO_TRY(const auto outcome, co_await run_git(std::move(arguments), kMaxReportBytes));
    co_return read_push_report(outcome.out.bytes, outcome.err.bytes, plan_.reference).map([](PushResult) {});
  }

  [[nodiscard]] Json answer(const std::vector<RemoteHead>& heads, const Json& outgoing,
                            bool up_to_date) const {
    const auto tip = std::ranges::find(heads, plan_.reference, &RemoteHead::reference);
    return Json{{"ref", plan_.reference},    {"from", tip == heads.end() ? Json() : Json(tip->oid)},
                {"to", plan_.oid},           {"result", up_to_date ? "up_to_date" : "pushed"},
                {"host", plan_.url->host()}, {"commits", outgoing["commits"]}};
  }

  CallContext context_;
  Parts* parts_;
  const runs::Lease* lease_;
  const Workdir* workdir_;
  bool* proven_;
  std::optional<Transport> transport_;
  Plan plan_;
};

}  // namespace

Result<void> check_destination(const policy::BridgePolicy& policy, const Workdir& workdir, const PushUrl& url,
                               std::string_view branch, std::string_view upstream_branch) {
  const bool pinned = workdir.push.url && workdir.push.url->text() == url.text();
  const bool below_prefix = std::ranges::any_of(
      policy.push_allowed, [&](const policy::PushAllowance& allowance) { return allowance.allows(url); });
  if (!pinned && !below_prefix) {
    return policy::refuse(
        codes::kPushNotAllowed,
        "the administrator has not allowed pushes to the upstream's remote (WORKDIR_XX_PUSH_URL or "
        "REPOBRIDGE_PUSH_ALLOWED)");
  }
  if (!policy::push_branch_allowed(workdir.push.branches, branch, upstream_branch)) {
    return policy::refuse(
        codes::kPushBranchNotAllowed,
        "policy does not allow pushes to the upstream's branch (WORKDIR_XX_PUSH_BRANCHES); without "
        "that setting it must have the local branch's name");
  }
  return {};
}

asio::awaitable<runs::Written> push(CallContext context, Parts& parts, const runs::Lease& lease,
                                    const Workdir& workdir) {
  bool proven = true;
  Push one(context, parts, lease, workdir, proven);
  auto answer = co_await one.perform();
  co_return runs::Written{.answer = std::move(answer), .proven = proven};
}

}  // namespace repobridge::git
