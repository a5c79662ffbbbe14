// repobridge doctor: whether this host gives what the bridge stands on, looked at and tried from here.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "bridge/admin/command.h"
#include "bridge/admin/env_source.h"
#include "bridge/runs/trial_run.h"
#include "bridge/wire/config.h"
#include "bridge/wire/key.h"
#include "bridge/wire/token.h"
#include "platform/child_process.h"
#include "platform/control_group.h"
#include "platform/files.h"
#include "platform/landlock.h"
#include "platform/local_socket.h"
#include "platform/random.h"
#include "platform/sandbox.h"
#include "policy/json.h"

namespace repobridge::admin {
namespace {

using policy::Json;

constexpr int kSomethingToLookAfter = 1;
constexpr const char* kGit = "/usr/bin/git";
constexpr std::size_t kTrialBytes = 8;

struct Options {
  std::string config;
  bool json = false;
};

struct Finding {
  std::string what;
  bool fine = true;
  std::string says;
};

class Report {
 public:
  void fine(std::string what, std::string says) { add(std::move(what), true, std::move(says)); }
  void look_after(std::string what, std::string says) { add(std::move(what), false, std::move(says)); }
  // Fine, or what the error says.
  void take(const std::string& what, const Result<void>& result, const std::string& when_fine) {
    add(what, result.has_value(), result ? when_fine : result.error().message);
  }
  void note(std::string name, Json value) { facts_[std::move(name)] = std::move(value); }

  [[nodiscard]] Answer answer(bool json) const {
    const bool all_fine = std::ranges::all_of(findings_, &Finding::fine);
    return {json ? as_json(all_fine) : as_table(), all_fine ? 0 : kSomethingToLookAfter};
  }

 private:
  void add(std::string what, bool fine, std::string says) {
    findings_.push_back({.what = std::move(what), .fine = fine, .says = std::move(says)});
  }

  [[nodiscard]] std::string as_table() const {
    std::vector<std::vector<std::string>> rows;
    rows.reserve(findings_.size());
    for (const auto& finding : findings_) {
      rows.push_back({finding.fine ? "fine" : "LOOK AFTER", shown(finding.what), shown(finding.says)});
    }
    return table(rows, Stream{});
  }

  [[nodiscard]] std::string as_json(bool all_fine) const {
    Json list = Json::array();
    for (const auto& finding : findings_) {
      list.push_back({{"what", finding.what}, {"fine", finding.fine}, {"says", finding.says}});
    }
    Json whole = facts_;
    whole["fine"] = all_fine;
    whole["findings"] = std::move(list);
    return policy::dump_json(whole) + "\n";
  }

  std::vector<Finding> findings_;
  Json facts_ = Json::object();
};

// Policy, keys and directories: whose they are, and whether anybody else could write or read them.

void look_at_keys(const policy::BridgePolicy& policy, Report& report) {
  for (const auto& front : policy.fronts) {
    const auto key = wire::read_key(front.name, front.key_file);
    report.take("key of '" + front.name + "'", key.map([](const auto&) {}),
                "nobody else can read or replace it");
  }
}

void look_at_directory(const char* what, const std::string& path, Report& report) {
  const auto there = platform::facts_of_path(path);
  if (there && !*there) return report.fine(what, "not there yet; the bridge makes it");
  report.take(what, platform::check_private_directory(path), "closed to everybody else");
}

void look_at_bridge(const policy::BridgePolicy& policy, Report& report) {
  const auto connected = platform::connect_local(policy.socket_path);
  report.note("bridge_answers", connected.has_value());
  if (connected) return report.fine("bridge", "answers on its socket");
  report.look_after("bridge", "does not answer on its socket; start repobridged");
}

void look_at_policy(const std::string& config, Report& report) {
  const auto policy = wire::load_bridge_policy(config);
  report.take("policy", policy.map([](const auto&) {}),
              "nobody else can write it, and it is as it was rendered");
  if (!policy) return;
  look_at_keys(*policy, report);
  look_at_directory("state", policy->state_dir, report);
  look_at_directory("locks", policy->lock_dir, report);
  look_at_bridge(*policy, report);
  report.note("unsandboxed_git_allowed", policy->allow_unsandboxed_git);
  if (policy->allow_unsandboxed_git) {
    report.look_after("UNSANDBOXED GIT",
                      "REPOBRIDGE_ALLOW_UNSANDBOXED_GIT=true: where the kernel has no sandbox, what a "
                      "repository holds is read without one");
  }
}

// The front's side of the same rendering, beside it: who could call over HTTP.
void look_at_front(const std::string& config, Report& report) {
  const auto policy = wire::load_front_policy(config.substr(0, config.rfind('/') + 1) + "front.json");
  report.take("front", policy.map([](const auto&) {}), "nobody else can write its policy");
  if (!policy) return;
  for (const auto& token : policy->http.tokens) {
    const auto secret = wire::read_token(token.file);
    report.take("token '" + token.name + "'", secret.map([](const auto&) {}),
                "nobody else can read or replace it");
  }
  report.note("unauthenticated_allowed", policy->http.allow_unauthenticated);
  if (policy->http.allow_unauthenticated) {
    report.look_after(
        "UNAUTHENTICATED CALLERS",
        "REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED=true: whoever reaches the front's HTTP port may "
        "call and write");
  }
}

// What the machine gives.

void look_at_sandbox(Report& report) {
  const int version = platform::landlock::version();
  report.note("landlock_abi", version);
  const auto tried = platform::try_sandbox();
  report.note("git_sandbox", tried.has_value());
  report.take("git worker's sandbox", tried, "entered: Landlock " + std::to_string(version) + " and seccomp");
}

Result<std::string> git_version() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_failure("make a pipe", errno);
  const platform::UniqueFd output(ends[0]);
  platform::UniqueFd input(ends[1]);
  platform::SpawnRequest spawn;
  spawn.program = kGit;
  spawn.argv = {"git", "--version"};
  spawn.standard_output = input.get();
  RB_TRY(auto child, platform::ChildProcess::spawn(spawn));
  input.reset();
  std::array<char, 128> text{};
  const ssize_t got = ::read(output.get(), text.data(), text.size());
  if (got <= 0 || !child.reap().success()) return os_failure("ask git for its version", EPROTO);
  const std::string_view line(text.data(), static_cast<std::size_t>(got));
  return std::string(line.substr(0, line.find('\n')));
}

void look_at_git(Report& report) {
  const auto version = git_version();
  report.note("git", version ? Json(*version) : Json());
  if (version) return report.fine("git", *version);
  report.look_after("git", std::string(kGit) + " cannot be started; pushes need it");
}

// Where a run's control group can be made; "" when nowhere.
std::string look_at_control_groups(Report& report) {
  const auto own = platform::own_control_group();
  const bool delegated = own && platform::check_delegated(*own);
  report.note("cgroup_delegated", delegated);
  if (delegated) {
    report.fine("control groups", "can be made by a process of this session");
    return *own;
  }
  report.look_after("control groups",
                    "none can be made from here (a service with Delegate=yes can), so what a killed "
                    "supervisor leaves is not found");
  return "";
}

Json to_json(const platform::Containment& held) {
  return Json{{"level", platform::level_of(held)},
              {"subreaper", held.subreaper},
              {"cgroup", held.control_group},
              {"landlock_abi", held.landlock_version},
              {"signal_scope", held.signal_scope}};
}

const char* meaning_of(std::string_view level) {
  if (level == "L3") return "whoever is killed, nothing of a run survives, and that is proven";
  if (level == "L2")
    return "a program can end its supervisor; what it leaves is then ended, but not proven gone";
  if (level == "L1") return "what a killed supervisor leaves is not found";
  return "what leaves its process group is noticed, and cannot be ended";
}

// The real supervisor, beside this program.
Result<runs::Trial> try_run(const std::string& groups) {
  RB_TRY(const auto self, platform::canonical_path("/proc/self/exe"));
  RB_TRY(const auto name, platform::random_hex(kTrialBytes));
  const auto group = groups.empty() ? groups : groups + "/repobridge-trial-" + name;
  return runs::trial_run(self.substr(0, self.rfind('/')), self, group);
}

std::string with_commas(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void look_at_room(const platform::RoomParts& room, Report& report) {
  report.note("room", Json{{"held", room.held}, {"missing", room.missing}});
  if (room.missing.empty()) return report.fine("rooms", "whole, tried from here: " + with_commas(room.held));
  report.look_after("rooms", "this host does not give " + with_commas(room.missing) +
                                 "; actions are refused, unless they say isolation: best_effort");
}

void look_at_pins(bool frozen, Report& report) {
  report.note("pins", Json{{"frozen", frozen}});
  if (frozen) return report.fine("pins", "stay what they are while an action runs that writes nothing");
  report.look_after("pins", "this host has no overlay: what changes while an action runs is detected only");
}

void look_at_runs(Report& report) {
  const auto tried = try_run(look_at_control_groups(report));
  report.note("containment", tried ? to_json(tried->held) : Json());
  if (!tried) return report.look_after("runs", "repobridge-run does not work: " + tried.error().message);
  look_at_room(tried->room, report);
  look_at_pins(tried->frozen, report);
  const auto level = std::string(platform::level_of(tried->held));
  const auto says = level + ", tried from here: " + meaning_of(level);
  if (tried->held.control_group) return report.fine("runs", says);
  report.look_after("runs", says);
}

Result<Answer> examine(const Options& options) {
  RB_TRY(const auto config, bridge_config(options.config));
  Report report;
  look_at_policy(config, report);
  look_at_front(config, report);
  look_at_sandbox(report);
  look_at_git(report);
  look_at_runs(report);
  return report.answer(options.json);
}

Run attach(CLI::App& app) {
  const auto options = std::make_shared<Options>();  // shared: the parser writes it, the Run reads it later
  app.add_option("--config", options->config,
                 "bridge.json (default: repobridge/bridge.json in the user's configuration)");
  app.add_flag("--json", options->json, "For a program to read");
  return [options](const Console&) { return examine(*options); };
}

}  // namespace

const Command kDoctor{.name = "doctor",
                      .summary =
                          "Look whether this host gives what the bridge stands on; exit code 0 when "
                          "all is fine, 1 when there is something to look after",
                      .attach = attach};

}  // namespace repobridge::admin
