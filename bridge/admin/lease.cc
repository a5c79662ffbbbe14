// repobridge lease: who writes in a workdir (show), how it is opened to writers again after one that did not
// end cleanly (recover), and how others take part (exec, path).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "bridge/admin/command.h"
#include "bridge/admin/lease_exec.h"
#include "bridge/admin/workdir_place.h"
#include "bridge/audit.h"
#include "bridge/git/repository_guard.h"
#include "bridge/runs/lease.h"
#include "platform/files.h"
#include "platform/process_table.h"
#include "platform/user.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

namespace codes = policy::codes;
using policy::Json;
using Leftover = Result<std::optional<runs::Record>>;

constexpr int kNothingDone = 1;
constexpr int kMostWaitSeconds = 86400;

struct Options {
  std::string alias;
  std::string config;
  bool yes = false;
  bool json = false;
  std::string program;
  std::vector<std::string> arguments;
  int wait_seconds = 0;
};

using Place = WorkdirPlace;

Result<Place> find_place(const Options& options) { return find_workdir(options.alias, options.config); }

std::string described(const platform::ProcessIdentity& process) {
  return "process " + std::to_string(process.pid) + (platform::may_be_alive(process) ? ", alive" : ", ended");
}

Result<runs::LockedWorkdir> take(const Place& place) {
  auto locked = runs::LockedWorkdir::lock(place.lease);
  if (!locked) return lock_refused(place, locked.error());
  return locked;
}

bool anything_left(const Leftover& leftover) { return !leftover || leftover->has_value(); }

// What is known before anything is changed.
struct Finding {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<std::string>> alive;   // with the run's id
  std::vector<std::vector<std::string>> nearby;  // at work in the workdir
  std::size_t closed = 0;
};

Result<void> look_at_record(const runs::Record& record, Finding& finding) {
  RB_TRY(const auto boot, platform::boot_id());
  finding.rows.push_back({"writer", admin::described(record.holder)});
  const bool is_command = record.holder.tool == runs::kLeaseExec;
  finding.rows.push_back({is_command ? "lease exec" : "bridge", described(record.bridge)});
  if (record.supervisor) finding.rows.push_back({"supervisor", described(*record.supervisor)});
  const char* proof = "";
  if (record.boot != boot) {
    proof = "the machine was started since, so everything that it began is gone";
  } else if (record.proven_gone(boot)) {
    proof = "everything that it began is known to be gone";
  } else if (record.unproven) {
    proof = is_command ? "it could not prove that everything the command began is gone"
                       : "the bridge could not prove that everything it began is gone";
  } else {
    proof = "its supervisor was ended before it could prove that everything it began is gone";
  }
  finding.rows.push_back({"proof", proof});
  return {};
}

Result<void> look_at_repository(const Place& place, const Json& git, Finding& finding) {
  const auto standing = git::RepositoryGuard::look(place.root.get(), git);
  if (!standing) {
    finding.rows.push_back({".git", "cannot be looked into: " + standing.error().message});
    return {};
  }
  if (standing->half_way) {
    finding.rows.push_back({".git", "a change was stopped half-way; it will be finished or undone"});
  }
  for (const auto& lock : standing->foreign_locks) {
    finding.rows.push_back({".git", lock + " is there and not ours; it stays (is a git command at work?)"});
  }
  return {};
}

Result<void> look_at_processes(const Place& place, const std::optional<runs::Record>& record,
                               Finding& finding) {
  const std::string setting = record ? runs::environment_entry(record->holder) : "=";
  RB_TRY(const auto table, platform::find_processes(place.path, setting));
  for (const auto& seen : table.seen) {
    auto& list = seen.carries ? finding.alive : finding.nearby;
    list.push_back({"  " + std::to_string(seen.process.pid), shown(seen.name)});
  }
  finding.closed = table.closed;
  return {};
}

Result<Finding> look(const Place& place, const Leftover& leftover) {
  Finding finding;
  const std::optional<runs::Record> record = leftover ? *leftover : std::nullopt;
  if (!record) finding.rows.push_back({"writer", "unknown: its record cannot be read"});
  if (record) RB_CHECK(look_at_record(*record, finding));
  RB_CHECK(look_at_repository(place, record ? record->git : Json(), finding));
  RB_CHECK(look_at_processes(place, record, finding));
  return finding;
}

std::string as_text(const Place& place, const Finding& finding) {
  const Stream plain;
  std::string text =
      "A writer in the workdir '" + place.alias + "' did not end cleanly.\n\n" + table(finding.rows, plain);
  if (!finding.alive.empty()) {
    text += "\nStill alive, with the run's id in their environment:\n" + table(finding.alive, plain);
  }
  if (!finding.nearby.empty()) {
    text += "\nAt work in the workdir, perhaps for you:\n" + table(finding.nearby, plain);
  }
  if (finding.closed > 0) {
    text +=
        "\nProcesses of this user that could not be looked into: " + std::to_string(finding.closed) + "\n";
  }
  return text + "\n";
}

Result<void> clear(const Place& place, runs::LockedWorkdir& locked, const Finding& finding) {
  const std::optional<runs::Record> record = locked.leftover() ? *locked.leftover() : std::nullopt;
  RB_TRY(const auto user, platform::current_user());
  RB_TRY(auto audit, bridge::Audit::open(place.state_dir));
  RB_CHECK(audit.recovered({.login = user.login,
                            .workdir = place.alias,
                            .holder = record ? runs::to_json(record->holder) : Json(),
                            .still_alive = finding.alive.size()}));
  if (record) {
    const auto settled = git::RepositoryGuard::settle(place.root.get(), record->git);
    if (!settled) {
      return policy::refuse(
          codes::kWorkdirRecoveryRequired,
          "the change in .git that was stopped half-way can be neither finished nor undone (" +
              settled.error().message + "); mend that and call again");
    }
  }
  return locked.settle();
}

Result<Answer> recover(const Options& options) {
  RB_TRY(const auto place, find_place(options));
  RB_TRY(auto locked, take(place));
  if (!anything_left(locked.leftover())) {
    return Answer("There is nothing to recover: the workdir '" + place.alias + "' is open to writers.\n",
                  kNothingDone);
  }
  RB_TRY(const auto finding, look(place, locked.leftover()));
  RB_CHECK(write_out(as_text(place, finding)));
  bool agreed = options.yes;
  if (!agreed) {
    RB_TRY(agreed, ask(finding.alive.empty()
                           ? "Open the workdir to writers again?"
                           : "They may still write there. Open the workdir to writers all the same?"));
  }
  if (!agreed) return Answer("Declined; nothing was changed.\n", kNothingDone);
  RB_CHECK(clear(place, locked, finding));
  return Answer("The workdir '" + place.alias + "' is open to writers again.\n");
}

Result<Answer> show(const Options& options) {
  RB_TRY(const auto place, find_place(options));
  const auto locked = runs::LockedWorkdir::lock(place.lease);
  if (!locked && locked.error().kind != Kind::busy) return lock_refused(place, locked.error());
  Json holder;
  const char* state = "free";
  if (!locked) {
    const bool passes = locked.error().code == codes::kWorkdirBusy.name;
    state = passes ? "busy" : "recovery_required";
    holder = (*locked.error().details)["holder"];
  } else if (anything_left(locked->leftover())) {
    state = "recovery_required";
    if (locked->leftover()) holder = runs::to_json((*locked->leftover())->holder);
  }
  if (options.json) {
    return Answer(policy::dump_json({{"workdir", place.alias}, {"state", state}, {"holder", holder}}) + "\n");
  }
  std::vector<std::vector<std::string>> rows{{"workdir", place.alias}, {"state", state}};
  for (const char* name : {"tool", "action", "since", "run_id"}) {
    if (holder.is_object() && holder[name].is_string())
      rows.push_back({name, shown(holder[name].get<std::string>())});
  }
  return Answer(table(rows, Stream{}));
}

// What the command's own exit code is not mistaken for.
Result<Answer> exec(const Options& options, const Console& console) {
  ExecRequest request{.command = {options.program}, .wait = std::chrono::seconds(options.wait_seconds)};
  request.command.insert(request.command.end(), options.arguments.begin(), options.arguments.end());
  const auto code =
      find_place(options).and_then([&](const Place& place) { return exec_under_lease(place, request); });
  if (code) return Answer("", *code);
  write_err(refusal_line(console.err, "repobridge lease exec", code.error()));
  return Answer("", kExecRefused);
}

// For other programs, which lock it by flock(2).
Result<Answer> path(const Options& options) {
  RB_TRY(const auto place, find_place(options));
  return Answer(place.lease.lock_path + "\n");
}

CLI::App* add(CLI::App& app, const char* name, const char* summary, const std::shared_ptr<Options>& options) {
  auto* command = app.add_subcommand(name, summary);
  command->add_option("ALIAS", options->alias, "The workdir")->required();
  command->add_option("--config", options->config,
                      "bridge.json (default: repobridge/bridge.json in the user's configuration)");
  return command;
}

CLI::App* add_exec(CLI::App& app, const std::shared_ptr<Options>& options) {
  auto* command =
      add(app, "exec",
          "Run a command as the workdir's one writer, in its directory; exit code: the command's, "
          "128 + N when signal N ended it, 125 when refused",
          options);
  command->add_option("--wait", options->wait_seconds, "Seconds to wait for another writer (default: 0)")
      ->check(CLI::Range(0, kMostWaitSeconds));
  command->add_option("CMD", options->program, "The command, after --, and its arguments")->required();
  // The arguments are no option of ours: the parser would make two of [a,b].
  command->prefix_command();
  command->final_callback([command, options] {
    options->arguments = command->remaining();
    if (!options->arguments.empty() && options->arguments.front() == "--") {
      options->arguments.erase(options->arguments.begin());
    }
  });
  return command;
}

Run attach(CLI::App& app) {
  const auto options = std::make_shared<Options>();  // shared: the parser writes it, the Run reads it later
  app.require_subcommand(1);
  auto* showing = add(app, "show", "Say who writes in a workdir", options);
  showing->add_flag("--json", options->json, "For a program to read");
  auto* recovering =
      add(app, "recover",
          "Open a workdir to writers again after one that did not end cleanly; exit code 0 when it "
          "did, 1 when nothing was done, 2 when refused",
          options);
  recovering->add_flag("--yes", options->yes, "Do not ask");
  auto* executing = add_exec(app, options);
  auto* naming =
      add(app, "path", "Print the workdir's lock file, which other programs lock by flock(2)", options);
  return [options, showing, executing, naming](const Console& console) {
    if (showing->parsed()) return show(*options);
    if (executing->parsed()) return exec(*options, console);
    if (naming->parsed()) return path(*options);
    return recover(*options);
  };
}

}  // namespace

const Command kLease{.name = "lease", .summary = "Look after the workdirs' writers", .attach = attach};

}  // namespace repobridge::admin
