#include "bridge/git/operations.h"

#include "bridge/git/commit_guard.h"
#include "bridge/git/worker.h"
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

constexpr int kNoLease = -1;

asio::awaitable<Result<Json>> ask_once(CallContext context, const Parts& parts, Json question, int lease) {
  RB_CO_TRY(auto worker, Worker::start(context.executor, parts.programs, lease));
  co_return co_await worker.ask(context, std::move(question));
}

// After the worker of a commit was lost: where the branch is decides whether the new index stays.
asio::awaitable<Result<void>> settle(CallContext context, const Parts& parts, CommitGuard& guard,
                                     std::string root, Json move, int lease) {
  Json question{{"op", "resolve"}, {"root", std::move(root)}, {"reference", move["reference"]}};
  RB_CO_TRY(const auto now, co_await ask_once(context, parts, std::move(question), lease));
  if (now["oid"] == move["old"]) RB_CO_CHECK(guard.roll_back());
  co_return Result<void>();
}

bool is_step(const Json& message, const char* name) {
  const auto step = message.find("step");
  return step != message.end() && *step == name;
}

// The part after the index was replaced: the caller has no say any more, so that it ends in a known state.
asio::awaitable<Result<Json>> finish(CallContext context, const Parts& parts, Worker& worker,
                                     CommitGuard& guard, std::string root, Json move, int lease) {
  context.stop = {};
  RB_CO_CHECK(guard.publish(move));
  Json published{{"step", "published"}};
  auto data = co_await worker.ask(context, std::move(published));
  if (data) co_return data;
  context.deadline = platform::Deadline::after(kSettleLimit);
  RB_CO_CHECK(co_await settle(context, parts, guard, std::move(root), std::move(move), lease));
  co_return data;
}

}  // namespace

asio::awaitable<Result<Json>> view_status(CallContext context, const Parts& parts, const Workdir& workdir) {
  Json question{{"op", "status"},
                {"root", workdir.path},
                {"rules", workdir.rules.to_json()},
                {"max_entries", parts.policy.limits.max_response_items}};
  co_return co_await ask_once(context, parts, std::move(question), kNoLease);
}

asio::awaitable<Result<Json>> view_diff(CallContext context, const Parts& parts, const Workdir& workdir,
                                        policy::InspectCall call) {
  Json question{{"op", "diff"},
                {"root", workdir.path},
                {"paths", texts_of(call.paths)},
                {"rules", workdir.rules.to_json()},
                {"staged", call.view == policy::View::staged_diff},
                {"max_patch_bytes", parts.policy.limits.max_response_chars + kPatchSlack}};
  co_return co_await ask_once(context, parts, std::move(question), kNoLease);
}

asio::awaitable<Result<Json>> commit(CallContext context, const Parts& parts, const runs::Lease& lease,
                                     const Workdir& workdir, policy::CommitCall call) {
  RB_CO_TRY(auto worker, Worker::start(context.executor, parts.programs, lease.descriptor()));
  Json question{{"op", "commit"},
                {"root", workdir.path},
                {"paths", texts_of(call.paths)},
                {"message", call.message},
                {"expect", expect_of(call)},
                {"rules", workdir.rules.to_json()},
                {"identity", identity_of(workdir)}};
  RB_CO_TRY(const auto ready, co_await worker.exchange(context, std::move(question)));
  if (!is_step(ready, "lock")) co_return decode_answer(ready);
  RB_CO_TRY(auto guard,
            CommitGuard::lock(workdir.path, commit_journal(parts.policy.state_dir, lease.root())));
  Json locked{{"step", "locked"}, {"index", guard.index_path()}};
  RB_CO_TRY(const auto built, co_await worker.exchange(context, std::move(locked)));
  if (!is_step(built, "publish")) co_return decode_answer(built);
  Json move{{"reference", built["reference"]}, {"old", built["old"]}, {"new", built["new"]}};
  co_return co_await finish(context, parts, worker, guard, workdir.path, std::move(move), lease.descriptor());
}

asio::awaitable<Result<void>> recover_commit(CallContext context, const Parts& parts,
                                             std::string journal_path, int lease) {
  RB_CO_TRY(auto guard, CommitGuard::adopt(std::move(journal_path)));
  if (!guard || guard->interrupted_move().is_null()) co_return Result<void>();  // its destructor cleans up
  co_return co_await settle(context, parts, *guard, guard->root(), guard->interrupted_move(), lease);
}

std::string commit_journal(const std::string& state_dir, const platform::FileIdentity& root) {
  return state_dir + "/" + std::string(kJournalPrefix) + runs::name_of(root) + std::string(kJournalSuffix);
}

}  // namespace repobridge::git
