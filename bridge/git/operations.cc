#include "bridge/git/operations.h"

#include "bridge/git/repository_guard.h"
#include "bridge/git/worker.h"
#include "bridge/git/worker_pool.h"
#include "bridge/git/worker_protocol.h"
#include "bridge/log.h"
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

// Why a workdir cannot be committed to at all, in the words of whoever looks at it closely.
asio::awaitable<Result<Json>> refusal_for(CallContext context, Parts& parts, std::string root,
                                          Error otherwise) {
  WorkerOrder order{.root = std::move(root)};
  const auto worker = co_await Worker::start(context, parts, std::move(order));
  if (!worker) co_return fail(worker.error());
  co_return fail(std::move(otherwise));
}

// Why the worker is started, and what is locked when it asks.
struct Moves {
  Power power;
  std::string_view references;  // the prefix of those that it may move
  bool index;                   // HEAD and the index too
};
constexpr Moves kBranch{.power = Power::commit, .references = "refs/heads/", .index = true};
constexpr Moves kTrackingBranch{.power = Power::track, .references = "refs/remotes/", .index = false};

Result<std::vector<std::string>> locks_for(const Moves& moves, const Json& message) {
  auto reference = message.value("reference", std::string());
  if (!reference.starts_with(moves.references)) {
    return policy::refuse(codes::kInternalError, "the git worker named a reference that is not its to move");
  }
  if (moves.index) return std::vector<std::string>{"HEAD", std::move(reference), "index"};
  return std::vector<std::string>{std::move(reference)};
}

bool asks_for_locks(const Json& message) { return message.value("step", std::string()) == "lock"; }

// Before the branch has it, so that no commit of ours is missing there: one too many does no harm. Without
// the note the commit only cannot leave where policy asks for one.
void note_commit(Parts& parts, const std::string& oid) {
  if (const auto noted = parts.ledger.add(oid); !noted) bridge::log_fault(noted.error());
}

asio::awaitable<Result<Json>> converse(CallContext context, Parts& parts, Worker& worker, const Moves& moves,
                                       Json question, RepositoryGuard& guard) {
  RB_CO_TRY(const auto first, co_await worker.exchange(context, std::move(question)));
  if (!asks_for_locks(first)) {
    RB_CO_TRY(const auto data, decode_answer(first));
    co_return data["answer"];
  }
  RB_CO_TRY(auto names, locks_for(moves, first));
  RB_CO_CHECK(guard.lock(std::move(names)));
  Json locked{{"step", "locked"}, {"index", guard.index_path()}};
  RB_CO_TRY(const auto ready, co_await worker.ask(context, std::move(locked)));
  // From here on the caller has no say any more: what follows waits for nobody.
  const auto oid = ready["oid"].get<std::string>();
  if (moves.power == Power::commit) note_commit(parts, oid);
  RB_CO_CHECK(guard.publish(ready["reference"].get<std::string>(), oid));
  co_return ready["answer"];
}

asio::awaitable<Result<Json>> prepare_and_converse(CallContext context, Parts& parts,
                                                   const runs::Lease& lease, std::string root,
                                                   const Moves& moves, Json question,
                                                   RepositoryGuard& guard) {
  RB_CO_CHECK(guard.prepare());
  WorkerOrder order{.root = std::move(root),
                    .power = moves.power,
                    .scratch = moves.index ? guard.scratch_name() : "",
                    .lease = lease.lock()};
  // Its process has ended before this returns, whatever it was in the middle of: the scratch directory goes
  // next.
  RB_CO_TRY(auto worker, co_await Worker::start(context, parts, std::move(order)));
  co_return co_await converse(context, parts, worker, moves, std::move(question), guard);
}

// Asks a worker that prepares the move of a reference, and makes it.
asio::awaitable<runs::Written> move_reference(CallContext context, Parts& parts, const runs::Lease& lease,
                                              std::string root, const Moves& moves, Json question) {
  auto guard = RepositoryGuard::open(lease, root);
  if (!guard) {
    auto refusal = co_await refusal_for(context, parts, root, guard.error());
    co_return runs::Written{.answer = std::move(refusal)};
  }
  auto answer =
      co_await prepare_and_converse(context, parts, lease, root, moves, std::move(question), *guard);
  const auto released = guard->release();
  if (!released) bridge::log_fault(released.error());
  co_return runs::Written{.answer = std::move(answer), .proven = released.has_value()};
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

asio::awaitable<runs::Written> commit(CallContext context, Parts& parts, const runs::Lease& lease,
                                      const Workdir& workdir, policy::CommitCall call) {
  Json question{{"op", "commit"},
                {"paths", texts_of(call.paths)},
                {"message", call.message},
                {"expect", expect_of(call)},
                {"rules", workdir.rules.to_json()},
                {"identity", identity_of(workdir)}};
  co_return co_await move_reference(context, parts, lease, workdir.path, kBranch, std::move(question));
}

asio::awaitable<runs::Written> track(CallContext context, Parts& parts, const runs::Lease& lease,
                                     const Workdir& workdir, std::string tracking, std::string oid) {
  Json question{{"op", "track"}, {"tracking", std::move(tracking)}, {"oid", std::move(oid)}};
  co_return co_await move_reference(context, parts, lease, workdir.path, kTrackingBranch,
                                    std::move(question));
}

}  // namespace repobridge::git
