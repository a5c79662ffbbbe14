// The front's decision about tokens, alone: for tests without a server for HTTP in between.
//
//     check_token POLICY [--refresh-ms N] [--retry-ms N] [--limit-ms N]
//
// POLICY is a file with the object `oauth` of a front.json. Each line of standard input is an object {id,
// authorization}; each is answered by a line {id, allowed, login, mode, write} or {id, allowed, status,
// www_authenticate, error, message}, when it is decided. {"report": CODE, "why": TEXT} tells what a log
// would. It ends with its input.
#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "mcp/key_source.h"
#include "mcp/oauth.h"

namespace {

namespace asio = boost::asio;
namespace mcp = repobridge::mcp;
using repobridge::policy::Json;

void say(const Json& line) { std::cout << repobridge::policy::dump_json(line) + "\n" << std::flush; }

struct Options {
  std::string policy;
  int refresh_ms = 300000;
  int retry_ms = 10000;
  int limit_ms = 5000;
};

void report(const repobridge::Error& error) {
  say(Json{{"report", error.code}, {"why", error.details ? (*error.details)["why"] : Json()}});
}

asio::awaitable<void> answer(mcp::CheckAccess check, Json question) {
  const auto decision = co_await check(question["authorization"].get<std::string>());
  Json line{{"id", question["id"]}, {"allowed", decision.has_value()}};
  if (decision) {
    line.update(Json{{"login", decision->login}, {"mode", decision->mode}, {"write", decision->write}});
  } else {
    const auto& challenge = decision.error();
    line.update(Json{{"status", challenge.status},
                     {"www_authenticate", challenge.www_authenticate},
                     {"error", challenge.error},
                     {"message", challenge.message}});
  }
  say(line);
}

std::shared_ptr<mcp::KeySet> keys_of(const Options& options, const repobridge::policy::OauthPolicy& policy,
                                     asio::io_context& io) {
  auto source = mcp::key_source_of(policy);
  source.limit = std::chrono::milliseconds(options.limit_ms);
  const auto read = [source](const std::stop_token& stop) { return mcp::read_keys(source, stop); };
  return mcp::KeySet::make(io.get_executor(), {.read = read,
                                               .report = report,
                                               .refresh = std::chrono::milliseconds(options.refresh_ms),
                                               .retry = std::chrono::milliseconds(options.retry_ms)});
}

int serve(const Options& options) {
  std::ifstream file(options.policy);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto value = repobridge::policy::parse_json(text);
  if (!value) return 2;
  const auto policy = repobridge::policy::oauth_from_json(*value);
  if (!policy) {
    std::cerr << policy.error().message << "\n";
    return 2;
  }
  asio::io_context io(1);
  const auto still_serving = asio::make_work_guard(io);
  const auto check = mcp::oauth_access(*policy, keys_of(options, *policy, io));
  say(Json{{"metadata", mcp::protected_resource_metadata(*policy)}});
  std::jthread input([&] {
    for (std::string line; std::getline(std::cin, line);) {
      asio::post(io, [&io, &check, line] {
        asio::co_spawn(io, answer(check, *repobridge::policy::parse_json(line)), asio::detached);
      });
    }
    io.stop();
  });
  io.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Decides about tokens", "check_token");
  app.add_option("policy", options.policy)->required();
  app.add_option("--refresh-ms", options.refresh_ms);
  app.add_option("--retry-ms", options.retry_ms);
  app.add_option("--limit-ms", options.limit_ms);
  CLI11_PARSE(app, argc, argv);
  return serve(options);
}
