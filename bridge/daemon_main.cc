// repobridged: the bridge. Reads its policy, proves who is on the other end, and does what was approved.
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <climits>
#include <csignal>
#include <iostream>

#include "bridge/administrator_key.h"
#include "bridge/git/transport.h"
#include "bridge/log.h"
#include "bridge/parts.h"
#include "bridge/recovery.h"
#include "bridge/server.h"
#include "bridge/wire/config.h"
#include "bridge/wire/key.h"
#include "platform/control_group.h"
#include "platform/file_lock.h"
#include "platform/files.h"
#include "platform/random.h"
#include "platform/readiness.h"
#include "policy/codes.h"

namespace {

using namespace repobridge;  // NOLINT(google-build-using-namespace): this is the program

constexpr int kExitRefused = 2;

struct Options {
  std::string config;
  int ready_fd = -1;
};

Result<bridge::Programs> find_programs() {
  RB_TRY(const auto self, platform::canonical_path("/proc/self/exe"));
  const std::string directory = self.substr(0, self.rfind('/'));
  return bridge::Programs{.git_worker = directory + "/repobridge-git",
                          .supervisor = directory + "/repobridge-run",
                          .room = directory + "/repobridge-room",
                          .git = "/usr/bin/git"};
}

Result<std::shared_ptr<const wire::KeyRing>> read_keys(const policy::BridgePolicy& policy) {
  wire::KeyRing ring;
  for (const auto& front : policy.fronts) {
    RB_TRY(auto key, wire::read_key(front.name, front.key_file));
    ring.emplace(front.name, std::move(key));
  }
  RB_TRY(auto own, bridge::make_administrator_key(policy.state_dir));
  if (ring.contains(own.name)) {
    return policy::refuse(policy::codes::kConfigInvalidSetting, "a front has the administrator's name");
  }
  ring.emplace(own.name, std::move(own));
  return std::make_shared<const wire::KeyRing>(std::move(ring));
}

// Without the padding at its end, which a reader may leave out.
std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) text += kDigits[(bits >> static_cast<unsigned>(held - 6)) & 63U];
  }
  if (held > 0) text += kDigits[(bits << static_cast<unsigned>(6 - held)) & 63U];
  return text;
}

// The keys themselves must never be in an answer, in whatever form.
std::vector<std::string> secrets_of(const wire::KeyRing& ring) {
  std::vector<std::string> secrets;
  for (const auto& [name, key] : ring) {
    secrets.push_back(key.bytes);
    secrets.push_back(platform::hex_of(key.bytes));
    secrets.push_back(base64_of(key.bytes));
  }
  return secrets;
}

// The state directory is one bridge's at a time.
Result<platform::FileLock> take_state(const policy::BridgePolicy& policy) {
  RB_CHECK(platform::make_private_directory(policy.state_dir));
  RB_CHECK(platform::make_private_directory(policy.lock_dir));
  auto lock = platform::FileLock::try_lock(policy.state_dir + "/bridge.lock");
  if (!lock && lock.error().kind == Kind::busy) {
    return policy::refuse(policy::codes::kBridgeRunning,
                          "a bridge runs already on this state directory; stop it first");
  }
  return lock;
}

// What nobody waits for any more has been told to end, and is given the time.
asio::awaitable<void> until_idle(asio::any_io_executor executor, runs::Registry& runs) {
  asio::steady_timer idle(executor, asio::steady_timer::time_point::max());
  runs.on_idle([&idle] { idle.cancel(); });
  while (!runs.idle()) (void)co_await idle.async_wait(asio::as_tuple(asio::use_awaitable));
  runs.on_idle({});
}

// The bridge's own control group, when it may make others in it; runs are less contained elsewhere.
std::string find_control_groups() {
  auto own = platform::own_control_group();
  if (own && platform::check_delegated(*own)) return *std::move(own);
  return "";
}

// Ready only when nothing of an earlier life stands in anybody's way.
asio::awaitable<void> start(asio::any_io_executor executor, bridge::Parts& parts, bridge::Server& server,
                            int ready_fd) {
  co_await bridge::recover_workdirs(executor, parts);
  // Only now has an earlier life's push ended that may have worked there.
  git::Transport::remove_leftovers(parts.policy.state_dir);
  platform::tell_ready(ready_fd);
  bridge::log_event("ready");
  co_await server.run();
  co_await until_idle(executor, parts.runs);
}

Result<void> serve(const Options& options) {
  RB_TRY(auto policy, wire::load_bridge_policy(options.config));
  RB_TRY(auto config, platform::canonical_path(options.config));
  RB_TRY(auto programs, find_programs());
  RB_TRY(const auto state, take_state(policy));
  RB_TRY(const auto keys, read_keys(policy));
  RB_TRY(auto audit, bridge::Audit::open(policy.state_dir));
  RB_TRY(auto ledger, bridge::CommitLedger::open(policy.state_dir));
  RB_TRY(auto generation, runs::Generation::begin());
  RB_TRY(auto runs, runs::Registry::open(policy.state_dir + "/runs", policy.runs));
  RB_TRY(const auto listener, platform::Listener::bind(policy.socket_path));
  policy::Redactor redactor(policy.limits.secret_detection, secrets_of(*keys));
  RB_CHECK(audit.start(generation.id));
  const policy::RunLimits run_limits = policy.runs;
  bridge::Parts parts{.policy = std::move(policy),
                      .programs = std::move(programs),
                      .audit = std::move(audit),
                      .ledger = std::move(ledger),
                      .redactor = std::move(redactor),
                      .generation = std::move(generation),
                      .runs = std::move(runs),
                      .front_rate = policy::CallRate(run_limits.calls_per_minute),
                      .caller_rate = policy::CallRate(run_limits.calls_per_minute_per_caller),
                      .config = std::move(config),
                      .control_groups = find_control_groups(),
                      .poisoned = {}};
  asio::io_context loop(1);
  bridge::Server server(loop.get_executor(), parts, listener, keys);
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  signals.async_wait([&server, &parts](const boost::system::error_code& ec, int) {
    if (ec) return;
    server.stop();
    parts.runs.stop_all();
  });
  asio::co_spawn(loop, start(loop.get_executor(), parts, server, options.ready_fd),
                 [&](const std::exception_ptr&) {
                   parts.workers.clear();  // their ends of life would keep the loop going
                   signals.cancel();
                 });
  loop.run();
  bridge::log_event("ended");
  return parts.audit.stop(parts.generation.id);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The Repobridge bridge: does the repository work that its policy allows"};
  app.set_version_flag("--version", REPOBRIDGE_VERSION);
  Options options;
  app.add_option("--config", options.config, "bridge.json, as `repobridge render` wrote it")->required();
  app.add_option("--ready-fd", options.ready_fd, "descriptor that gets a line when the bridge is ready");
  CLI11_PARSE(app, argc, argv);
  // Other processes of the user must not read the keys out of our memory.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  // A peer that is gone and a file that may not grow are errors of one call.
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  bridge::start_log();
  const auto served = serve(options);
  if (served) return 0;
  std::cerr << "repobridged: " << served.error().code << ": " << served.error().message << "\n";
  return kExitRefused;
}
