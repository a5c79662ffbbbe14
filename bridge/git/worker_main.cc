// repobridge-git: the process that reads the repository's bytes. It has one socket, to the bridge. The first
// message names its repository and its power; it then gives up everything else, and answers until the socket
// closes. The bridge kills it when it takes too long.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

#include "bridge/git/commit.h"
#include "bridge/git/confinement.h"
#include "bridge/git/diff.h"
#include "bridge/git/grounds.h"
#include "bridge/git/outgoing.h"
#include "bridge/git/pinned_version.h"
#include "bridge/git/push_plan.h"
#include "bridge/git/repository.h"
#include "bridge/git/status.h"
#include "bridge/git/worker_protocol.h"
#include "bridge/wire/frame.h"
#include "policy/codes.h"
#include "policy/path_rules.h"

namespace {

using namespace repobridge;       // NOLINT(google-build-using-namespace): this is the program
using namespace repobridge::git;  // NOLINT(google-build-using-namespace)
using policy::Fields;
using policy::Json;

constexpr const policy::Code& kBadQuestion = policy::codes::kInternalError;

Result<std::vector<policy::RepoPath>> read_paths(Fields& fields) {
  RB_TRY(const auto texts, fields.texts("paths"));
  std::vector<policy::RepoPath> paths;
  for (const auto& text : texts) {
    RB_TRY(auto path, policy::RepoPath::parse(text));
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<policy::PathRules> read_rules(Fields& fields) {
  const Json* rules = fields.any("rules");
  if (rules == nullptr) return fields.refuse_field("rules", "is missing");
  return policy::PathRules::from_json(*rules, "rules");
}

Result<git_oid> read_oid(Fields& fields, std::string_view name) {
  RB_TRY(const auto hex, fields.text(name));
  return oid_from(hex);
}

Result<Json> next_message() {
  RB_TRY(const auto body, wire::read_frame(kWorkerSocket, kMaxWorkerFrameBytes));
  if (!body) return policy::refuse(kBadQuestion, "the bridge ended the conversation");
  auto value = policy::parse_json(*body);
  if (!value) return policy::refuse(kBadQuestion, "the bridge sent a malformed message");
  return *std::move(value);
}

Result<Json> do_status(const Repository& repository, Fields& fields) {
  RB_TRY(const auto rules, read_rules(fields));
  RB_TRY(const auto most, fields.number("max_entries", 0, INT32_MAX));
  return status(repository, rules, static_cast<std::size_t>(most));
}

Result<Json> do_diff(const Repository& repository, Fields& fields) {
  RB_TRY(const auto paths, read_paths(fields));
  RB_TRY(const auto rules, read_rules(fields));
  RB_TRY(const bool staged, fields.flag("staged", false));
  RB_TRY(const auto most, fields.number("max_patch_bytes", 0, INT32_MAX));
  return diff(repository, {.of = staged ? DiffOf::staged : DiffOf::worktree,
                           .paths = paths,
                           .rules = rules,
                           .max_patch_bytes = static_cast<std::size_t>(most)});
}

Result<CommitOrder> read_order(Fields& fields) {
  CommitOrder order;
  RB_TRY(order.paths, read_paths(fields));
  RB_TRY(order.message, fields.text("message"));
  RB_TRY(order.rules, read_rules(fields));
  const Json* expect = fields.any("expect");
  if (expect == nullptr || !expect->is_object()) return fields.refuse_field("expect", "must be an object");
  for (const auto& [name, hex] : expect->items()) {
    RB_TRY(auto path, policy::RepoPath::parse(name));
    RB_TRY(const auto oid, oid_from(hex.get<std::string>()));
    order.expect.emplace(std::move(path), oid);
  }
  if (const Json* identity = fields.any("identity"); identity != nullptr && !identity->is_null()) {
    RB_TRY(auto inner, Fields::of(*identity, "identity", kBadQuestion));
    policy::GitIdentity who;
    RB_TRY(who.name, inner.text("name"));
    RB_TRY(who.email, inner.text("email"));
    order.identity = std::move(who);
  }
  return order;
}

// Asks for git's locks around `reference`; the answer says where a new index goes.
Result<std::string> ask_for_locks(const std::string& reference) {
  RB_CHECK(wire::write_frame(kWorkerSocket, encode_step("lock", {{"reference", reference}})));
  RB_TRY(const auto locked, next_message());
  RB_TRY(auto step, Fields::of(locked, "", kBadQuestion));
  return step.text("index");
}

// What is to be in its place now: the bridge's to do.
Json ready(const std::string& reference, const git_oid& oid, Json answer) {
  return Json{{"reference", reference}, {"oid", hex_of(oid)}, {"answer", std::move(answer)}};
}

Result<Json> do_commit(const Repository& repository, Fields& fields) {
  RB_TRY(auto order, read_order(fields));
  RB_TRY(auto builder, CommitBuilder::begin(repository, std::move(order)));
  RB_TRY(const auto index_path, ask_for_locks(builder.head().reference));
  RB_TRY(auto built, builder.build(index_path));
  return ready(builder.head().reference, built.oid, std::move(built.summary));
}

Result<Json> do_plan_push(const Repository& repository, Fields& /*fields*/) { return plan_push(repository); }

Result<Json> do_inspect_outgoing(const Repository& repository, Fields& fields) {
  Outgoing outgoing;
  RB_TRY(outgoing.oid, read_oid(fields, "oid"));
  RB_TRY(outgoing.shallow, fields.optional_text("shallow"));
  OutgoingRules rules;
  RB_TRY(rules.paths, read_rules(fields));
  RB_TRY(rules.ci_changes_allowed, fields.flag("ci_changes_allowed", false));
  RB_TRY(const auto heads, fields.texts("remote_heads"));
  RB_TRY(const auto tip, fields.optional_text("remote_tip"));
  for (const auto& head : heads) {
    RB_TRY(const auto head_oid, oid_from(head));
    outgoing.remote_heads.push_back(head_oid);
  }
  if (tip) {
    RB_TRY(outgoing.remote_tip, oid_from(*tip));
  }
  return inspect_outgoing(repository, outgoing, rules);
}

Result<Json> do_since_pinned(const Repository& repository, Fields& fields) {
  RB_TRY(const auto name, fields.text("path"));
  RB_TRY(auto path, policy::RepoPath::parse(name));
  RB_TRY(auto digest, fields.text("digest"));
  RB_TRY(const auto most, fields.number("max_patch_bytes", 0, INT32_MAX));
  const PinnedFile pinned{.path = std::move(path), .digest = std::move(digest)};
  return since_pinned(repository, pinned, static_cast<std::size_t>(most));
}

Result<Json> do_track(const Repository& repository, Fields& fields) {
  RB_TRY(const auto tracking, fields.text("tracking"));
  RB_TRY(const auto oid, read_oid(fields, "oid"));
  RB_TRY(const bool must, must_track(repository, tracking, oid));
  if (!must) return Json{{"answer", Json::object()}};
  RB_CHECK(ask_for_locks(tracking).map([](const std::string&) {}));
  RB_CHECK(track(repository, tracking, oid));
  return ready(tracking, oid, Json::object());
}

struct Operation {
  std::string_view name;
  Result<Json> (*perform)(const Repository&, Fields&);
};
constexpr std::array<Operation, 7> kOperations{{{"status", do_status},
                                                {"diff", do_diff},
                                                {"commit", do_commit},
                                                {"plan_push", do_plan_push},
                                                {"inspect_outgoing", do_inspect_outgoing},
                                                {"since_pinned", do_since_pinned},
                                                {"track", do_track}}};

// What a worker is from its first message on: of one repository, with one power.
struct Place {
  std::string root;
  UserConfig user;
  Grounds grounds;
};

Result<Place> begin(const Json& message) {
  RB_TRY(auto fields, Fields::of(message, "", kBadQuestion));
  RB_TRY(const auto root, fields.text("root"));
  RB_TRY(const auto power_name, fields.text("power"));
  RB_TRY(const auto scratch, fields.text("scratch"));
  RB_TRY(const bool waived, fields.flag("sandbox_waived", false));
  const auto power = find_power(power_name);
  if (!power) return fields.refuse_field("power", "is no power");
  // Before libgit2 sees any of it.
  RB_TRY(const auto here, audit_workdir(root));
  RB_TRY(auto user, UserConfig::read(here));
  RB_TRY(const auto repository, Repository::open(root, user));
  if (!waived) RB_CHECK(confine(repository, user, *power, scratch));
  Grounds grounds(root, user);
  return Place{.root = root, .user = std::move(user), .grounds = std::move(grounds)};
}

Result<Json> answer(const Place& place, const Json& question) {
  RB_TRY(auto fields, Fields::of(question, "", kBadQuestion));
  RB_TRY(const auto name, fields.text("op"));
  const auto* operation = std::ranges::find(kOperations, name, &Operation::name);
  if (operation == kOperations.end()) return fields.refuse_field("op", "is no operation");
  // Opened anew each time: whoever works in the repository changes it meanwhile.
  RB_TRY(const auto repository, Repository::open(place.root, place.user));
  return operation->perform(repository, fields);
}

Result<void> reply(const Result<Json>& data) {
  return wire::write_frame(kWorkerSocket, data ? encode_success(*data) : encode_failure(data.error()));
}

Result<void> serve() {
  RB_TRY(const auto first, next_message());
  const auto place = begin(first);
  if (!place) return reply(fail(place.error()));
  RB_CHECK(reply(Json::object()));
  for (bool fresh = true;; fresh = false) {
    RB_TRY(const auto body, wire::read_frame(kWorkerSocket, kMaxWorkerFrameBytes));
    if (!body) return {};
    // Another must begin anew, and the bridge asks one when this one ends without an answer.
    if (!fresh && place->grounds.changed()) return {};
    const auto question = policy::parse_json(*body);
    if (!question) return policy::refuse(kBadQuestion, "the bridge sent a malformed question");
    RB_CHECK(reply(answer(*place, *question)));
  }
}

}  // namespace

// libgit2 sets the mode of each file it makes by name. In the sandbox modes are set only through a
// descriptor, which cannot lead to a file that the sandbox does not open; so its call comes here instead of
// to the C library.
extern "C" int chmod(const char* path, mode_t mode) noexcept {
  const platform::UniqueFd file(::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file.valid() ? ::fchmod(file.get(), mode) : -1;
}

int main() {
  // Ends with the bridge, whatever it is in the middle of. The parent may be gone already.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1) return 1;
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  (void)::prctl(PR_SET_DUMPABLE, 0);
  (void)std::signal(SIGPIPE, SIG_IGN);
  git_libgit2_init();
  // A commit that was reported must survive a power cut.
  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
  const auto served = serve();
  if (!served) (void)std::fprintf(stderr, "repobridge-git: %s\n", served.error().message.c_str());
  // At once: what runs at an ordinary exit (a sanitizer's last look) may need more than the sandbox allows.
  ::_exit(served ? 0 : 1);
}
