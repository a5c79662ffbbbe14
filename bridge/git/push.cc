#include "bridge/git/push.h"

#include <algorithm>

#include "bridge/environment.h"
#include "bridge/git/destination.h"
#include "bridge/git/operations.h"
#include "bridge/git/push_report.h"
#include "bridge/git/ssh_command.h"
#include "bridge/git/transport.h"
#include "bridge/git/user_includes.h"
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
using Scheme = PushUrl::Scheme;

// A remote with a hundred thousand branches still fits.
constexpr std::size_t kMaxListingBytes = 16U << 20U;
constexpr std::size_t kMaxReportBytes = 1U << 20U;
constexpr std::size_t kMaxAnswerBytes = 1U << 20U;
constexpr std::string_view kHeads = "refs/heads/";

// What the repository says about where its branch goes.
struct Plan {
  std::string branch;
  std::string upstream_branch;
  std::string reference;
  std::string tracking;
  std::string oid;
  Json shallow;
  std::string url;
  std::vector<std::string> remote_urls;
};

Result<Plan> read_plan(const Json& data) {
  RB_TRY(auto fields, policy::Fields::of(data, "", codes::kInternalError));
  Plan plan;
  RB_TRY(plan.branch, fields.text("branch"));
  RB_TRY(plan.upstream_branch, fields.text("upstream_branch"));
  RB_TRY(plan.reference, fields.text("reference"));
  RB_TRY(plan.tracking, fields.text("tracking"));
  RB_TRY(plan.oid, fields.text("oid"));
  RB_TRY(plan.url, fields.text("url"));
  RB_TRY(plan.remote_urls, fields.texts("remote_urls"));
  plan.shallow = data.value("shallow", Json());
  // What policy judges is what git is told, whatever became of the worker.
  if (plan.reference != std::string(kHeads) + plan.upstream_branch || !is_oid(plan.oid)) {
    return policy::refuse(codes::kInternalError, "the git worker's plan of a push contradicts itself");
  }
  // Before git sees it, even if the user's configuration makes another of it.
  RB_CHECK(PushUrl::parse(plan.url).map([](const PushUrl&) {}));
  return plan;
}

Failure timed_out(Stage stage) {
  if (stage == Stage::asking) {
    return policy::refuse(
        codes::kPushTimeout,
        "the remote did not answer in time (WORKDIR_XX_PUSH_TIMEOUT_SECONDS); nothing was sent");
  }
  return policy::refuse(
      codes::kPushTimeout,
      "the remote did not answer in time (WORKDIR_XX_PUSH_TIMEOUT_SECONDS); whether the push arrived is not "
      "known, so look at status after a fetch");
}

Failure said_too_much(Stage stage) {
  if (stage == Stage::asking) {
    return policy::refuse(codes::kPushOutputLimit,
                          "the remote said more than is read, and git was stopped; nothing was sent");
  }
  return policy::refuse(
      codes::kPushOutputLimit,
      "the remote said more than is read, and git was stopped; whether the push arrived is not "
      "known, so look at status after a fetch");
}

Failure lost(Stage stage) {
  if (stage == Stage::asking) {
    return policy::refuse(codes::kPushFailed,
                          "git's supervisor was killed, and git with it; nothing was sent, call again");
  }
  return policy::refuse(
      codes::kPushFailed,
      "git's supervisor was killed, and git with it; whether the push arrived is not known, so look at "
      "status after a fetch");
}

// One push from its plan to the moved tracking branch. Lives as long as push() waits for it.
class Push {
 public:
  Push(CallContext context, Parts& parts, const runs::Lease& lease, const Workdir& workdir, bool& proven)
      : context_(std::move(context)),
        limit_(platform::Deadline::after(workdir.push.timeout.value_or(parts.policy.runs.longest))),
        parts_(&parts),
        lease_(&lease),
        workdir_(&workdir),
        proven_(&proven) {}

  asio::awaitable<Result<Json>> perform() {
    Json question{{"op", "plan_push"}};
    RB_CO_TRY(const auto data, co_await ask(std::move(question)));
    RB_CO_TRY(plan_, read_plan(data));
    RB_CO_CHECK(check_push_branch(*workdir_, plan_.branch, plan_.upstream_branch));
    RB_CO_TRY(transport_, make_transport());
    RB_CO_CHECK(co_await settle_destination());
    RB_CO_CHECK(co_await prepare_ssh());
    RB_CO_TRY(const auto heads, co_await remote_heads());
    RB_CO_TRY(const auto outgoing, co_await inspect(heads));
    RB_CO_CHECK(check_made_here(outgoing["commits"]));
    const bool up_to_date = outgoing["up_to_date"].get<bool>();
    if (!up_to_date) RB_CO_CHECK(co_await send());
    // The commits are there, whatever becomes of our own note of it.
    const auto tracked = co_await track();
    co_return answer(heads, outgoing, up_to_date, tracked && !plan_.tracking.empty());
  }

 private:
  asio::awaitable<Result<Json>> ask(Json question) {
    co_return co_await parts_->workers.ask(context_, *parts_, workdir_->path, std::move(question));
  }

  asio::awaitable<Result<void>> track() {
    if (plan_.tracking.empty()) co_return Result<void>();
    auto moved = co_await git::track(context_, *parts_, *lease_, *workdir_, plan_.tracking, plan_.oid);
    *proven_ = *proven_ && moved.proven;
    co_return std::move(moved.answer).map([](const Json&) {});
  }

  Result<Transport> make_transport() {
    RB_TRY(auto transport,
           Transport::make(parts_->policy.state_dir, {.root = workdir_->path,
                                                      .reference = std::string(kHeads) + plan_.branch,
                                                      .url = plan_.url,
                                                      .shallow = plan_.shallow}));
    RB_TRY(auto stand_in, platform::canonical_path(transport.directory()));
    const Situation here{
        .git_directory = workdir_->path + "/.git", .branch = plan_.branch, .remote_urls = plan_.remote_urls};
    const Situation there{
        .git_directory = std::move(stand_in), .branch = plan_.branch, .remote_urls = {plan_.url}};
    RB_TRY(auto files, includes_only_here(UserConfigPlaces::of_environment(), here, there));
    RB_CHECK(transport.include(std::move(files)));
    return transport;
  }

  // git on the transport repository, as it ended by itself.
  asio::awaitable<Result<runs::RunOutcome>> run_git(std::vector<std::string> settings,
                                                    std::vector<std::string> arguments,
                                                    std::size_t max_output, Stage stage) {
    runs::RunRequest request;
    request.supervisor = parts_->programs.supervisor;
    request.control_groups = parts_->control_groups;
    request.argv = Transport::git_command(parts_->programs.git, transport_->directory());
    request.argv.insert(request.argv.end(), settings.begin(), settings.end());
    request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
    // Before the destination is known git needs none.
    const auto protocol = destination_ ? destination_->protocol() : "none";
    request.environment = bridge::push_environment(protocol, transport_->directory());
    request.directory = transport_->descriptor();
    request.limit = std::min(context_.deadline.left(), limit_.left());
    request.max_output_bytes = max_output;
    auto outcome = co_await runs::run_supervised(context_, *lease_, std::move(request));
    if (!outcome) co_return outcome;
    *proven_ = *proven_ && outcome->proven;
    switch (outcome->reason) {
      case runs::EndReason::itself:
        co_return outcome;
      case runs::EndReason::supervisor_lost:
        co_return lost(stage);
      case runs::EndReason::cancelled:
        co_return policy::refuse(codes::kCallCancelled, "the call was given up");
      case runs::EndReason::deadline:
        co_return timed_out(stage);
      case runs::EndReason::output_limit:
        co_return said_too_much(stage);
    }
    co_return outcome;
  }

  // git's answer to a question about its configuration; absent when it exits with 1 for "no such value".
  asio::awaitable<Result<std::optional<std::string>>> ask_git(std::vector<std::string> arguments) {
    std::vector<std::string> no_settings;
    RB_CO_TRY(auto outcome,
              co_await run_git(std::move(no_settings), std::move(arguments), kMaxAnswerBytes, Stage::asking));
    if (outcome.exit_code == 0) co_return std::optional<std::string>(std::move(outcome.out.bytes));
    if (outcome.exit_code == 1 && outcome.err.bytes.empty()) co_return std::optional<std::string>();
    const Conversation said{
        .stage = Stage::asking, .scheme = Scheme::https, .err = outcome.err.bytes, .ssh_log = {}};
    co_return conversation_failure(said);
  }

  // What git makes of the remote's URL.
  asio::awaitable<Result<Destination>> ask_destination() {
    std::vector<std::string> arguments{"remote", "-v"};
    RB_CO_TRY(const auto listing, co_await ask_git(std::move(arguments)));
    co_return parse_destination(listing.value_or(""), Transport::kRemote);
  }

  // From here on the remote is one URL for asking and for pushing, and policy has allowed it.
  asio::awaitable<Result<void>> settle_destination() {
    RB_CO_TRY(const auto there, co_await ask_destination());
    const bool rewritten = there.fetch != plan_.url || there.push != plan_.url;
    RB_CO_TRY(auto url, PushUrl::parse(there.push));
    RB_CO_CHECK(check_push_url(parts_->policy, *workdir_, url, rewritten));
    RB_CO_CHECK(transport_->settle_on(there.push));
    if (there.fetch != there.push) {
      RB_CO_TRY(const auto settled, co_await ask_destination());
      if (settled.fetch != there.push || settled.push != there.push) {
        co_return policy::refuse(
            codes::kPushNotAllowed,
            "the global git configuration has rules for just the upstream's URL that lead to two places "
            "(url.<base>.insteadOf and pushInsteadOf); write rules that lead to one");
      }
    }
    destination_ = std::move(url);
    co_return Result<void>();
  }

  // The user's ssh, with our options.
  asio::awaitable<Result<void>> prepare_ssh() {
    if (destination_->scheme() != Scheme::ssh) co_return Result<void>();
    std::vector<std::string> arguments{"config", "--get", "core.sshCommand"};
    RB_CO_TRY(const auto users, co_await ask_git(std::move(arguments)));
    const std::string command = users.value_or("");
    ssh_command_ = unattended_ssh(command.substr(0, command.find_last_not_of('\n') + 1), Transport::kSshLog);
    co_return Result<void>();
  }

  // git where it speaks to the remote.
  asio::awaitable<Result<runs::RunOutcome>> converse(std::vector<std::string> arguments,
                                                     std::size_t max_output, Stage stage) {
    std::vector<std::string> settings;
    if (ssh_command_) settings = {"-c", "core.sshCommand=" + *ssh_command_};
    co_return co_await run_git(std::move(settings), std::move(arguments), max_output, stage);
  }

  // What was said, for finding out why it failed. `ssh_log` must outlive it.
  [[nodiscard]] Conversation said(Stage stage, const runs::RunOutcome& outcome, std::string& ssh_log) const {
    Conversation said{
        .stage = stage, .scheme = destination_->scheme(), .err = outcome.err.bytes, .ssh_log = {}};
    if (!ssh_command_) return said;
    ssh_log = transport_->take_ssh_log();
    said.ssh_log = ssh_log;
    return said;
  }

  asio::awaitable<Result<std::vector<RemoteHead>>> remote_heads() {
    std::vector<std::string> arguments{"ls-remote", "--heads", "--", Transport::kRemote};
    RB_CO_TRY(const auto outcome, co_await converse(std::move(arguments), kMaxListingBytes, Stage::asking));
    std::string ssh_log;
    const auto words = said(Stage::asking, outcome, ssh_log);
    if (outcome.exit_code != 0) co_return conversation_failure(words);
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
                                       Transport::kRemote,
                                       plan_.oid + ":" + plan_.reference};
    RB_CO_TRY(const auto outcome, co_await converse(std::move(arguments), kMaxReportBytes, Stage::sending));
    std::string ssh_log;
    const auto words = said(Stage::sending, outcome, ssh_log);
    co_return read_push_report(outcome.out.bytes, words, plan_.reference).map([](PushResult) {});
  }

  [[nodiscard]] Json answer(const std::vector<RemoteHead>& heads, const Json& outgoing, bool up_to_date,
                            bool tracked) const {
    const auto tip = std::ranges::find(heads, plan_.reference, &RemoteHead::reference);
    return Json{{"ref", plan_.reference},
                {"from", tip == heads.end() ? Json() : Json(tip->oid)},
                {"to", plan_.oid},
                {"result", up_to_date ? "up_to_date" : "pushed"},
                {"host", destination_->host().empty() ? Json() : Json(destination_->host())},
                {"tracking_updated", tracked},
                {"commits", outgoing["commits"]}};
  }

  CallContext context_;
  platform::Deadline limit_;
  Parts* parts_;
  const runs::Lease* lease_;
  const Workdir* workdir_;
  bool* proven_;
  std::optional<Transport> transport_;
  Plan plan_;
  std::optional<PushUrl> destination_;
  std::optional<std::string> ssh_command_;  // absent: git starts what it would
};

}  // namespace

asio::awaitable<runs::Written> push(CallContext context, Parts& parts, const runs::Lease& lease,
                                    const Workdir& workdir) {
  bool proven = true;
  Push one(context, parts, lease, workdir, proven);
  auto answer = co_await one.perform();
  co_return runs::Written{.answer = std::move(answer), .proven = proven};
}

}  // namespace repobridge::git
