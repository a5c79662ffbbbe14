// repobridge pin check: what has drifted from the pins in force, and what happened to it since it was
// reviewed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "bridge/actions/pins.h"
#include "bridge/admin/env_source.h"
#include "bridge/admin/git_history.h"
#include "bridge/admin/pin.h"
#include "bridge/wire/config.h"
#include "platform/digest.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::admin {
namespace {

namespace codes = policy::codes;
using policy::Json;
using policy::Pin;
using policy::PinKind;
using policy::RepoPath;

constexpr int kDrift = 1;
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20U;

struct Options {
  std::string alias;
  std::string action;
  std::string config;
  bool json = false;
};

std::string with_line_ends(std::string_view text, std::string_view line_end) {
  std::string with;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (pair) continue;
    if (text[i] == '\n') {
      with += line_end;
    } else {
      with += text[i];
    }
  }
  return with;
}

// One workdir, with its directory open and a worker for its history once one is needed.
class Checker {
 public:
  static Result<Checker> of(const policy::Workdir& workdir, bool sandbox_waived) {
    auto root = platform::open_directory(workdir.path);
    if (!root) {
      return policy::refuse(codes::kWorkdirUnavailable, "the workdir's directory cannot be opened");
    }
    return Checker(workdir, *std::move(root), sandbox_waived);
  }

  // One JSON object for each pin that does not hold.
  Json drift_of(const policy::Action& action) {
    Json drift = Json::array();
    for (const auto& [path, pin] : action.integrity) {
      const auto look = actions::look_at(root_.get(), path, pin.kind);
      if (!look || look->now != pin) drift.push_back(describe(path, pin, look));
    }
    return drift;
  }

 private:
  Checker(const policy::Workdir& workdir, platform::UniqueFd root, bool sandbox_waived)
      : workdir_(&workdir), root_(std::move(root)), sandbox_waived_(sandbox_waived) {}

  Json describe(const RepoPath& path, const Pin& pin, const Result<actions::Look>& look) {
    Json one{{"pin", policy::pin_name(path, pin.kind)}, {"pinned", policy::pin_value(pin)}};
    one["now"] = look ? Json(policy::pin_value(look->now)) : Json();
    one["problem"] = look ? "it is not what was reviewed" : look.error().message;
    if (!look && look.error().details) one["path"] = look.error().details->value("path", path.text());
    const bool missing = !look && look.error().code == codes::kPathNotFound.name;
    if (pin.kind == PinKind::directory && look) {
      one["no_diff"] = "which entries differ cannot be told from the digest of a manifest";
    } else if (pin.kind == PinKind::file && (look || missing)) {
      if (look && only_line_endings(path, pin)) one["problem"] = "only its line endings differ";
      add_diff(path, pin, one);
    }
    return one;
  }

  [[nodiscard]] bool only_line_endings(const RepoPath& path, const Pin& pin) const {
    const auto text = platform::read_beneath_if_present(root_.get(), path.bytes(), kMaxTextBytes);
    if (!text || !*text) return false;
    return platform::sha256_hex(with_line_ends(**text, "\n")) == pin.digest ||
           platform::sha256_hex(with_line_ends(**text, "\r\n")) == pin.digest;
  }

  void add_diff(const RepoPath& path, const Pin& pin, Json& one) {
    auto since = since_pinned(path, pin.digest);
    if (!since) {
      one["no_diff"] =
          "the history cannot be read: " + since.error().message + " [" + since.error().code + "]";
    } else if (!since->value("found", false)) {
      one["no_diff"] = "no commit of the last 5000 has the bytes that were reviewed";
    } else {
      since->erase("found");
      one["diff"] = *std::move(since);
    }
  }

  Result<Json> since_pinned(const RepoPath& path, const std::string& digest) {
    if (!history_) {
      RB_TRY(auto history, GitHistory::open(workdir_->path, sandbox_waived_));
      history_ = std::make_unique<GitHistory>(std::move(history));
    }
    auto answer = history_->since_pinned(path, digest);
    if (!answer) history_.reset();  // it may have ended; the next question goes to another
    return answer;
  }

  const policy::Workdir* workdir_;
  platform::UniqueFd root_;
  bool sandbox_waived_;
  std::unique_ptr<GitHistory> history_;
};

Result<void> check_workdir(const Options& options, const policy::BridgePolicy& policy,
                           const policy::Workdir& workdir, Json& results) {
  RB_TRY(auto checker, Checker::of(workdir, policy.allow_unsandboxed_git));
  for (const auto& [name, action] : workdir.actions) {
    if (!options.action.empty() && options.action != name) continue;
    Json drift = checker.drift_of(action);
    Json pins{{"count", action.integrity.size()}, {"state", drift.empty() ? "ok" : "drift"}};
    results.push_back({{"workdir", workdir.alias},
                       {"action", name},
                       {"pins", std::move(pins)},
                       {"drift", std::move(drift)}});
  }
  return {};
}

// All that the options name; a name that is not there is refused.
Result<Json> check_all(const Options& options, const policy::BridgePolicy& policy) {
  if (!options.alias.empty() && !policy.workdirs.contains(options.alias)) {
    return policy::refuse(codes::kWorkdirNotFound, "no workdir of the configuration has that alias");
  }
  Json results = Json::array();
  for (const auto& [alias, workdir] : policy.workdirs) {
    if (!options.alias.empty() && options.alias != alias) continue;
    RB_CHECK(check_workdir(options, policy, workdir, results));
  }
  if (!options.action.empty() && results.empty()) {
    return policy::refuse(codes::kActionNotFound, "no action of the workdir has that name");
  }
  return results;
}

std::string text_in(const Json& object, const char* name) { return shown(object.value(name, "")); }

// What happened to one pin, and the difference as lines that move no cursor.
std::string drift_text(const Json& action, const Json& one, const Console& console) {
  std::string text = "\n" +
                     bold(console.out, text_in(action, "workdir") + " " + text_in(action, "action") + ": " +
                                           text_in(one, "pin")) +
                     ": " + text_in(one, "problem");
  if (one.contains("path") && one["path"] != one["pin"]) text += ": " + text_in(one, "path");
  text += "\n  pinned  " + text_in(one, "pinned") + "\n";
  if (one["now"].is_string()) text += "  now     " + text_in(one, "now") + "\n";
  if (one.contains("no_diff")) text += "  no difference to show: " + text_in(one, "no_diff") + "\n";
  if (!one.contains("diff")) return text;
  const Json& diff = one["diff"];
  text += "  since commit " + text_in(diff, "commit") + ":\n" + shown_lines(diff.value("patch", ""));
  return text + (diff.value("truncated", false) ? "  (and more)\n" : "");
}

std::string as_text(const Json& results, const Console& console) {
  if (results.empty()) return "No action pins anything.\n";
  std::vector<std::vector<std::string>> rows{{"WORKDIR", "ACTION", "PINS", "STATE"}};
  std::string drift;
  for (const auto& action : results) {
    rows.push_back({text_in(action, "workdir"), text_in(action, "action"), action["pins"]["count"].dump(),
                    text_in(action["pins"], "state")});
    for (const auto& one : action["drift"]) drift += drift_text(action, one, console);
  }
  if (!drift.empty()) {
    drift += "\nReview it; `repobridge pin show ALIAS ACTION` then prints the pins to paste.\n";
  }
  return table(rows, console.out) + drift;
}

bool drifted(const Json& results) {
  return std::ranges::any_of(results, [](const Json& action) { return !action["drift"].empty(); });
}

Result<Answer> check(const Options& options, const Console& console) {
  RB_TRY(const auto config, bridge_config(options.config));
  RB_TRY(const auto policy, wire::load_bridge_policy(config));
  RB_TRY(const auto results, check_all(options, policy));
  const int code = drifted(results) ? kDrift : 0;
  // ASCII only, since it holds lines of files that others write.
  const auto json = [&] {
    return Json{{"actions", results}}.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  };
  return Answer(options.json ? json() : as_text(results, console), code);
}

}  // namespace

Subcommand add_pin_check(CLI::App& pin) {
  const auto options = std::make_shared<Options>();  // shared: the parser writes it, the Run reads it later
  auto* command = pin.add_subcommand(
      "check",
      "Compare the pins in force with what is there; exit code 0 when all hold, 1 when one has "
      "drifted, 2 when refused. Nothing is updated");
  command->add_option("ALIAS", options->alias, "The workdir (default: all)");
  command->add_option("ACTION", options->action, "The action (default: all)");
  command->add_option("--config", options->config,
                      "bridge.json (default: repobridge/bridge.json in the user's configuration)");
  command->add_flag("--json", options->json, "For a program to read");
  return {.app = command, .run = [options](const Console& console) { return check(*options, console); }};
}

}  // namespace repobridge::admin
