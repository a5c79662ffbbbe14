#include "bridge/git/operations.h"

#include "bridge/git/commit_guard.h"
#include "bridge/git/worker.h"
#include "bridge/git/worker_pool.h"
#include "bridge/git/worker_protocol.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using bridge::CallContext;
using bridge::Parts;
using policy::Json;
using policy::Workdir;

// A patch longer than the whole answer may be is cut anyway; a little more lets the answer's limit decide.
constexpr std::size_t kPatchSlack = 4096;
// For asking where a branch is, whatever time the call had left.
constexpr std::chrono::seconds kSettleLimit{10};
constexpr std::string_view kJournalPrefix = "commit-";
constexpr std::string_view kJournalSuffix = ".json";

Json texts_of(const std::vector<policy::RepoPath>& paths) {
  Json texts = Json::array();
  for (const auto& path : paths) texts.push_back(path.text());
  return texts;
}

Json expect_of(const policy::CommitCall& call) {
  Json expect = Json::object();
  for (const auto& [path, oid] : call.expect) expect[path.text()] = oid;
  return expect;
}

Json identity_of(const Workdir& workdir) {
  if (!workdir.identity) return nullptr;
  return Json{{"name", workdir.identity->name}, {"email", workdir.identity->email}};
}

// After the worker of a commit was lost: where the branch is decides whether the new index stays.
asio::awaitable<Result<void>> settle(CallContext context, Parts& parts, CommitGuard& guard, Json move) {
  Json question{{"op", "resolve"}, {"reference", move["reference"]}};
  RB_CO_TRY(const auto now, co_await parts.workers.ask(context, parts, guard.root(), std::move(question)));
  if (now["oid"] == move["old"]) RB_CO_CHECK(guard.roll_back());
  co_return Result<void>();
}

// Why a workdir cannot be committed to at all, in the words of whoever looks at it closely.
asio::awaitable<Result<Json>> refusal_for(CallContext context, Parts& parts, std::string root,
                                          Error otherwise) {
  WorkerOrder order{.root = std::move(root)};
  const auto worker = co_await Worker::start(context, parts, std::move(order));
  co_return fail(worker ? std::move(otherwise) : worker.error());
}

bool is_step(const Json& message, const char* name) {
  const auto step = message.find("step");
  return step != message.end() && *step == name;
}

// The part after the index was replaced: the caller has no say any more, so that it ends in a known state.
asio::awaitable<Result<Json>> finish(CallContext context, Parts& parts, Worker& worker, CommitGuard& guard,
                                     Json move) {
  context.stop = {};
  RB_CO_CHECK(guard.publish(move));
  Json published{{"step", "published"}};
  auto data = co_await worker.ask(context, std::move(published));
  if (data) co_return data;
  context.deadline = platform::Deadline::after(kSettleLimit);
  RB_CO_CHECK(co_await settle(context, parts, guard, std::move(move)));
  co_return data;
}

}  // namespace

asio::awaitable<Result<Json>> view_status(CallContext context, Parts& parts, const Workdir& workdir) {
  Json question{{"op", "status"},
                {"rules", workdir.rules.to_json()},
                {"max_entries", parts.policy.limits.max_response_items}};
  co_return co_await parts.workers.ask(context, parts, workdir.path, std::move(question));
}

asio::awaitable<Result<Json>> view_diff(CallContext context, Parts& parts, const Workdir& workdir,
                                        policy::InspectCall call) {
  Json question{{"op", "diff"},
                {"paths", texts_of(call.paths)},
                {"rules", workdir.rules.to_json()},
                {"staged", call.view == policy::View::staged_diff},
                {"max_patch_bytes", parts.policy.limits.max_response_chars + kPatchSlack}};
  co_return co_await parts.workers.ask(context, parts, workdir.path, std::move(question));
}

asio::awaitable<Result<Json>> commit(CallContext context, Parts& parts, const runs::Lease& lease,
                                     const Workdir& workdir, policy::CommitCall call) {
  auto guard = CommitGuard::prepare(workdir.path, commit_journal(parts.policy.state_dir, lease.root()));
  if (!guard) co_return co_await refusal_for(context, parts, workdir.path, guard.error());
  WorkerOrder order{.root = workdir.path,
                    .power = Power::commit,
                    .scratch = guard->scratch_name(),
                    .lease = lease.descriptor()};
  RB_CO_TRY(auto worker, co_await Worker::start(context, parts, std::move(order)));
  Json question{{"op", "commit"},
                {"paths", texts_of(call.paths)},
                {"message", call.message},
                {"expect", expect_of(call)},
                {"rules", workdir.rules.to_json()},
                {"identity", identity_of(workdir)}};
  RB_CO_TRY(const auto ready, co_await worker.exchange(context, std::move(question)));
  if (!is_step(ready, "lock")) co_return decode_answer(ready);
  RB_CO_CHECK(guard->lock());
  Json locked{{"step", "locked"}, {"index", guard->index_path()}};
  RB_CO_TRY(const auto built, co_await worker.exchange(context, std::move(locked)));
  if (!is_step(built, "publish")) co_return decode_answer(built);
  Json move{{"reference", built["reference"]}, {"old", built["old"]}, {"new", built["new"]}};
  co_return co_await finish(context, parts, worker, *guard, std::move(move));
}

asio::awaitable<Result<void>> recover_commit(CallContext context, Parts& parts, std::string journal_path) {
  RB_CO_TRY(auto guard, CommitGuard::adopt(std::move(journal_path)));
  if (!guard || guard->interrupted_move().is_null()) co_return Result<void>();  // its destructor cleans up
  co_return co_await settle(context, parts, *guard, guard->interrupted_move());
}

std::string commit_journal(const std::string& state_dir, const platform::FileIdentity& root) {
  return state_dir + "/" + std::string(kJournalPrefix) + runs::name_of(root) + std::string(kJournalSuffix);
}

}  // namespace repobridge::git
