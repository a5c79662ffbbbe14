// repobridge-mcp: the front. Speaks MCP with one client and asks the bridge; has no authority of its own.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <iostream>
#include <optional>

#include "bridge/wire/config.h"
#include "bridge/wire/frame.h"
#include "mcp/bridge_client.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stdio.h"
#include "platform/user.h"

namespace {

namespace mcp = repobridge::mcp;
namespace asio = boost::asio;
using repobridge::Error;
using repobridge::Result;

constexpr int kRefused = 2;
constexpr std::chrono::milliseconds kFlushPatience{50};

struct Options {
  std::string config;
  bool stdio = false;
};

// Nothing when the program has done what was asked of it, or cannot; `status` says which.
std::optional<Options> read_options(int argc, char** argv, int& status) {
  Options options;
  CLI::App app("Repobridge's front: speaks MCP and asks repobridged.", "repobridge-mcp");
  app.set_version_flag("--version", "repobridge-mcp " RB_VERSION);
  app.add_option("--config", options.config, "front.json, as `repobridge render` writes it")
      ->required()
      ->type_name("FILE");
  app.add_flag("--stdio", options.stdio, "speak over standard input and output")->required();
  try {
    app.parse(argc, argv);
    return options;
  } catch (const CLI::Success& asked) {
    status = app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::cerr << "repobridge-mcp: " << error.what() << "; see --help\n";
    status = kRefused;
  }
  return std::nullopt;
}

int refuse(const std::string& what, const Error& error) {
  std::cerr << "repobridge-mcp: " << error.code << ": " << what << error.message << "\n";
  return kRefused;
}

// The parts, each handed what it needs, until the client or a signal ends it.
void serve(mcp::Pipe client, mcp::Pipe wake, repobridge::policy::FrontPolicy policy,
           const repobridge::platform::User& user) {
  spdlog::logger log("repobridge-mcp", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log.set_level(spdlog::level::warn);
  log.flush_on(spdlog::level::warn);

  asio::io_context io(1);
  const auto still_serving = asio::make_work_guard(io);
  mcp::BridgeClient bridge(io.get_executor(), {.address = policy.bridge, .policy_digest = policy.digest});
  const mcp::Server server(std::move(policy),
                           {.name = "repobridge", .title = "Repobridge", .version = RB_VERSION});

  mcp::Stdio* outlet = nullptr;
  mcp::Session session(
      {.server = server,
       .caller = {.login = user.login, .mode = "stdio"},
       .send = [&outlet](std::string line) { outlet->send(std::move(line)); },
       .start_call = [&bridge](
                         auto request,
                         auto handlers) { return bridge.start(std::move(request), std::move(handlers)); },
       .report =
           [&log](const Error& error) {
             log.warn("a call failed: " + error.code + ", errno " + std::to_string(error.os_code));
           }});
  mcp::Stdio stdio(std::move(client), std::move(wake), repobridge::wire::kMaxRequestBytes,
                   {.post = [&io](auto task) { asio::post(io, std::move(task)); },
                    .line = [&session](const mcp::Line& line) { session.receive(line); },
                    .end = [&io] { io.stop(); }});
  outlet = &stdio;

  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&io](const auto& ec, int) {
    if (!ec) io.stop();
  });
  io.run();
  stdio.stop(kFlushPatience);
}

int run(int argc, char** argv) {
  int status = 0;
  const auto options = read_options(argc, argv, status);
  if (!options) return status;
  (void)std::signal(SIGPIPE, SIG_IGN);  // a client that is gone shows as an error of the write

  auto client = mcp::take_over_standard_streams();
  if (!client) return refuse("", client.error());
  auto wake = mcp::new_pipe();
  if (!wake) return refuse("", wake.error());
  auto policy = repobridge::wire::load_front_policy(options->config);
  if (!policy) return refuse("the file of --config: ", policy.error());
  const auto user = repobridge::platform::current_user();
  if (!user) return refuse("", user.error());
  serve(*std::move(client), *std::move(wake), *std::move(policy), *user);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "repobridge-mcp: " << error.what() << "\n";
  } catch (...) {
    std::cerr << "repobridge-mcp: an unknown failure\n";
  }
  return 1;
}
