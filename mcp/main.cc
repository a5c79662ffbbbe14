// repobridge-mcp: the front. Speaks MCP with its clients and asks the bridge; has no authority of its own.
#include <sys/prctl.h>

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
#include "mcp/http_main.h"
#include "mcp/log.h"
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
  mcp::HttpOptions http;
};

// Nothing when the program has done what was asked of it, or cannot; `status` says which.
std::optional<Options> read_options(int argc, char** argv, int& status) {
  Options options;
  CLI::App app("Repobridge's front: speaks MCP and asks repobridged.", "repobridge-mcp");
  app.set_version_flag("--version", "repobridge-mcp " RB_VERSION);
  app.add_option("--config", options.config, "front.json, as `repobridge render` writes it")
      ->required()
      ->type_name("FILE");
  auto* ways = app.add_option_group("ways", "How clients come; --stdio alone, or the others together");
  auto* stdio = ways->add_flag("--stdio", options.stdio, "speak over standard input and output");
  auto* http = ways->add_option("--http", options.http.address, "serve Streamable HTTP at ADDRESS:PORT/mcp");
  auto* local =
      ways->add_option("--unix", options.http.local_path, "the same on a local socket, for this user");
  ways->require_option(1, 2);
  stdio->excludes(http)->excludes(local);
  app.add_option("--metrics", options.http.status_address, "serve /healthz, /readyz and /metrics there")
      ->excludes(stdio);
  app.add_option("--ready-fd", options.http.ready_fd, "descriptor that gets a line when clients may come")
      ->excludes(stdio);
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
void serve_stdio(mcp::Pipe client, mcp::Pipe wake, repobridge::policy::FrontPolicy policy,
                 const repobridge::platform::User& user) {
  asio::io_context io(1);
  const auto still_serving = asio::make_work_guard(io);
  mcp::BridgeClient bridge(io.get_executor(), {.address = policy.bridge, .policy_digest = policy.digest});
  const mcp::Server server(std::move(policy),
                           {.name = "repobridge", .title = "Repobridge", .version = RB_VERSION});

  mcp::Stdio* outlet = nullptr;
  mcp::Session session({.server = server,
                        .caller = {.login = user.login, .mode = "stdio"},
                        .send = [&outlet](std::string line) { outlet->send(std::move(line)); },
                        .start_call =
                            [&bridge](auto request, auto handlers) {
                              return bridge.start(std::move(request), std::move(handlers));
                            },
                        .report = mcp::log_failed_call});
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

int run_stdio(const Options& options) {
  auto client = mcp::take_over_standard_streams();
  if (!client) return refuse("", client.error());
  auto wake = mcp::new_pipe();
  if (!wake) return refuse("", wake.error());
  auto policy = repobridge::wire::load_front_policy(options.config);
  if (!policy) return refuse("the file of --config: ", policy.error());
  const auto user = repobridge::platform::current_user();
  if (!user) return refuse("", user.error());
  serve_stdio(*std::move(client), *std::move(wake), *std::move(policy), *user);
  return 0;
}

int run_http(const Options& options) {
  auto policy = repobridge::wire::load_front_policy(options.config);
  if (!policy) return refuse("the file of --config: ", policy.error());
  const auto served = mcp::serve_http(*std::move(policy), options.http);
  return served ? 0 : refuse("", served.error());
}

int run(int argc, char** argv) {
  int status = 0;
  const auto options = read_options(argc, argv, status);
  if (!options) return status;
  // Other processes of the user must not read the key out of our memory.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  (void)std::signal(SIGPIPE, SIG_IGN);  // a client that is gone shows as an error of the write
  mcp::start_log();
  return options->stdio ? run_stdio(*options) : run_http(*options);
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
