// repobridge runs list, runs show, runs cancel: what callers have started, while it is at work and after.
#include <CLI/CLI.hpp>
#include <memory>

#include "bridge/admin/bridge_connection.h"
#include "bridge/admin/command.h"
#include "bridge/admin/env_source.h"
#include "bridge/wire/config.h"

namespace repobridge::admin {
namespace {

using policy::Json;

constexpr int kWaitSeconds = 15;

struct Options {
  std::string run_id;
  std::string config;
  bool json = false;
  bool follow = false;
};

std::string duration_text(const Json& run) {
  constexpr std::int64_t kSecond = 1000;
  const auto milliseconds = run.value("duration_ms", std::int64_t{0});
  const auto tenths = milliseconds % kSecond / 100;
  return std::to_string(milliseconds / kSecond) + "." + std::to_string(tenths) + " s";
}

std::string text_in(const Json& run, const char* name) {
  const auto found = run.find(name);
  return found != run.end() && found->is_string() ? shown(found->get<std::string>()) : "-";
}

std::string what(const Json& run) {
  const std::string action = text_in(run, "action");
  return action.empty() || action == "-" ? text_in(run, "tool") : text_in(run, "tool") + " " + action;
}

Result<Answer> list(const Options& options, const policy::BridgePolicy& policy, const Console& console) {
  RB_TRY(const auto data, ask_bridge(policy, "runs list", Json::object()));
  if (options.json) return Answer(policy::dump_json(data) + "\n");
  std::vector<std::vector<std::string>> rows{
      {"RUN", "WORKDIR", "WHAT", "STATE", "STARTED", "TOOK", "CALLER"}};
  for (const auto& run : data["runs"]) {
    rows.push_back({text_in(run, "run_id"), text_in(run, "workdir"), what(run), text_in(run, "state"),
                    text_in(run, "started_at"), duration_text(run), text_in(run, "caller")});
  }
  if (rows.size() == 1) return Answer("No run is known to the bridge.\n");
  return Answer(table(rows, console.out));
}

std::string facts_text(const Json& run, const Console& console) {
  std::vector<std::vector<std::string>> rows{{"run", text_in(run, "run_id")},
                                             {"workdir", text_in(run, "workdir")},
                                             {"what", what(run)},
                                             {"state", text_in(run, "state")},
                                             {"started", text_in(run, "started_at")},
                                             {"took", duration_text(run)},
                                             {"front", text_in(run, "front")},
                                             {"caller", text_in(run, "caller")},
                                             {"printed", run["output_bytes"].dump() + " bytes"}};
  if (run["code"].is_string() && run["code"] != "ok") rows.push_back({"code", text_in(run, "code")});
  return table(rows, Stream{.terminal = console.out.terminal, .colour = false});
}

// What the bridge no longer has of the stream itself stands in the kept answer.
std::string printed(const Json& run, const char* stream) {
  const auto& live = run[stream]["text"].get_ref<const std::string&>();
  if (!live.empty() || !run.contains("answer")) return live;
  return run["answer"].value(stream, "");
}

Json question(const std::string& id, std::int64_t out_from, std::int64_t err_from, int wait) {
  return Json{{"run_id", id}, {"out_from", out_from}, {"err_from", err_from}, {"wait_seconds", wait}};
}

// Prints what comes until the run has ended.
Result<Answer> follow(const Options& options, const policy::BridgePolicy& policy, const Console& console) {
  std::int64_t out_from = 0;
  std::int64_t err_from = 0;
  for (;;) {
    RB_TRY(const auto run,
           ask_bridge(policy, "runs show", question(options.run_id, out_from, err_from, kWaitSeconds)));
    RB_CHECK(write_out(shown_lines(run["stdout"]["text"].get<std::string>())));
    RB_CHECK(write_out(shown_lines(run["stderr"]["text"].get<std::string>())));
    const bool more = run["stdout"]["to"] != out_from || run["stderr"]["to"] != err_from;
    out_from = run["stdout"]["to"].get<std::int64_t>();
    err_from = run["stderr"]["to"].get<std::int64_t>();
    if (run["state"] != "running" && !more) return Answer("\n" + facts_text(run, console));
  }
}

Result<Answer> show(const Options& options, const policy::BridgePolicy& policy, const Console& console) {
  if (options.follow) return follow(options, policy, console);
  RB_TRY(const auto run, ask_bridge(policy, "runs show", question(options.run_id, 0, 0, 0)));
  if (options.json) return Answer(policy::dump_json(run) + "\n");
  std::string text = facts_text(run, console);
  for (const char* stream : {"stdout", "stderr"}) {
    const auto said = printed(run, stream);
    if (!said.empty()) text += "\n" + bold(console.out, stream) + "\n" + shown_lines(said);
    if (!said.empty() && said.back() != '\n') text += "\n";
  }
  return Answer(text);
}

Result<Answer> cancel(const Options& options, const policy::BridgePolicy& policy) {
  RB_TRY(const auto run, ask_bridge(policy, "runs cancel", Json{{"run_id", options.run_id}}));
  if (options.json) return Answer(policy::dump_json(run) + "\n");
  if (run["state"] != "running") return Answer("It had ended already.\n", 1);
  return Answer("It was told to end; `repobridge runs show " + text_in(run, "run_id") +
                "` says when it has.\n");
}

CLI::App* add(CLI::App& app, const char* name, const char* summary, const std::shared_ptr<Options>& options) {
  auto* command = app.add_subcommand(name, summary);
  command->add_option("--config", options->config,
                      "bridge.json (default: repobridge/bridge.json in the user's configuration)");
  command->add_flag("--json", options->json, "For a program to read");
  return command;
}

Run attach(CLI::App& app) {
  const auto options = std::make_shared<Options>();  // shared: the parser writes it, the Run reads it later
  app.require_subcommand(1);
  auto* listing = add(app, "list", "What is at work, and what has ended lately", options);
  auto* showing = add(app, "show", "One run, and what it printed", options);
  auto* cancelling = add(app, "cancel", "End a run; exit code 1 when it had ended already", options);
  for (auto* command : {showing, cancelling}) {
    command->add_option("RUN", options->run_id, "Its id, as `runs list` shows it")->required();
  }
  showing->add_flag("--follow", options->follow, "Print what it prints, until it has ended");
  return [options, listing, cancelling](const Console& console) -> Result<Answer> {
    RB_TRY(const auto config, bridge_config(options->config));
    RB_TRY(const auto policy, wire::load_bridge_policy(config));
    if (listing->parsed()) return list(*options, policy, console);
    if (cancelling->parsed()) return cancel(*options, policy);
    return show(*options, policy, console);
  };
}

}  // namespace

const Command kRuns{.name = "runs", .summary = "See and end what callers have started", .attach = attach};

}  // namespace repobridge::admin
