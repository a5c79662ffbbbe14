#include "mcp/http_main.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <utility>

#include "bridge/wire/frame.h"
#include "bridge/wire/token.h"
#include "mcp/bridge_client.h"
#include "mcp/http_front.h"
#include "mcp/http_server.h"
#include "mcp/http_status.h"
#include "mcp/http_tls.h"
#include "mcp/log.h"
#include "mcp/oauth.h"
#include "mcp/tokens.h"
#include "platform/descriptors.h"
#include "platform/readiness.h"
#include "platform/user.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

std::map<std::string, std::string> documents_of(const policy::FrontPolicy& policy) {
  if (!policy.oauth) return {};
  return protected_resource_metadata(*policy.oauth);
}

// The name by which callers with tokens know us is one of ours.
policy::HttpPolicy with_own_name(const policy::FrontPolicy& policy) {
  policy::HttpPolicy http = policy.http;
  if (!policy.oauth) return http;
  const auto url = policy::parse_web_url(policy.oauth->resource);
  const auto name = host_name_in(url ? url->origin.substr(url->origin.find("://") + 3) : "");
  if (name) http.allowed_hosts.push_back(*name);
  return http;
}

// Who listens, and what for: everything that lives as long as the program.
struct House {
  House(policy::FrontPolicy front_policy, const platform::User& user)
      : policy(std::move(front_policy)),
        login(user.login),
        bridge(io.get_executor(), {.address = policy.bridge, .policy_digest = policy.digest}),
        server(policy, {.name = "repobridge", .title = "Repobridge", .version = RB_VERSION}),
        keys(policy.oauth ? oauth_keys(io.get_executor(), *policy.oauth, log_failed_call) : nullptr),
        front({.server = server,
               .start_call =
                   [this](auto request, auto handlers) {
                     return bridge.start(std::move(request), std::move(handlers));
                   },
               .hosts = HostRules(with_own_name(policy)),
               .limits = policy.http.limits,
               .metrics = metrics,
               .report = log_failed_call,
               .documents = documents_of(policy)}),
        doors(io.get_executor(),
              {.limits = policy.http.limits,
               .max_body_bytes = wire::kMaxRequestBytes,
               .answered = [this](int status) { metrics.answered(status); },
               .connections_changed = [this](auto change) { metrics.connections_changed(change); },
               .fault = log_warning}),
        // A monitor is neither counted nor kept out by callers.
        status_doors(io.get_executor(), {.limits = {},
                                         .max_body_bytes = 0,
                                         .answered = [](int) {},
                                         .connections_changed = [](auto) {},
                                         .fault = log_warning}) {}

  asio::io_context io{1};
  policy::FrontPolicy policy;
  std::string login;
  Metrics metrics;
  BridgeClient bridge;
  Server server;
  std::shared_ptr<KeySet> keys;  // null where no authorization server is named
  HttpFront front;
  HttpServer doors;
  HttpServer status_doors;
  bool draining = false;
};

// A token that cannot be read now is more likely an oversight than one that is meant to let nobody in.
Result<CheckAccess> who_may_call(const House& house) {
  const auto& http = house.policy.http;
  for (const auto& token : http.tokens) {
    auto secret = wire::read_token(token.file);
    if (secret) continue;
    Error error = std::move(secret).error();
    error.message = "token '" + token.name + "': " + error.message;
    return fail(std::move(error));
  }
  auto check = check_tokens(http.tokens, log_failed_call);
  if (http.allow_unauthenticated) {
    log_warning("anybody who reaches the HTTP port may call: REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED is true");
    return or_anybody(std::move(check));
  }
  if (house.keys) {
    auto oauth = oauth_access(*house.policy.oauth, house.keys);
    return http.tokens.empty() ? oauth : or_oauth(std::move(check), std::move(oauth));
  }
  if (!http.tokens.empty()) return check;
  return policy::refuse(policy::codes::kConfigInvalidSetting,
                        "nobody could call over HTTP: set REPOBRIDGE_FRONT_TOKEN_FILES or REPOBRIDGE_OAUTH_… "
                        "and render again");
}

Failure about_option(const char* option, Error error) {
  error.message = std::string(option) + " " + error.message;
  return fail(std::move(error));
}

Result<std::string> open_network(House& house, const std::string& address) {
  const auto& http = house.policy.http;
  RB_TRY(auto check, who_may_call(house));
  HttpServer::Door door{.address = address,
                        .anywhere = http.allow_non_loopback,
                        .handler = house.front.for_network(std::move(check))};
  if (http.tls) {
    RB_TRY(door.make_stream, tls_streams(*http.tls));
  }
  auto where = house.doors.open(std::move(door));
  if (!where) return about_option("--http", std::move(where).error());
  return where;
}

Result<std::string> open_status(House& house, const std::string& address) {
  auto pages = status_pages({.metrics = house.metrics,
                             .ask_bridge = [&house] { return house.bridge.probe(); },
                             .draining = [&house] { return house.draining; },
                             .unauthenticated = house.policy.http.allow_unauthenticated});
  auto where = house.status_doors.open({.address = address, .handler = std::move(pages)});
  if (!where) return about_option("--metrics", std::move(where).error());
  return where;
}

// Says where each door is.
Result<std::string> open_all(House& house, const HttpOptions& options) {
  std::string details;
  if (!options.address.empty()) {
    RB_TRY(const auto where, open_network(house, options.address));
    details += "http=" + where;
  }
  if (!options.local_path.empty()) {
    const Access access{.login = house.login, .mode = "unix", .write = true};
    const auto opened = house.doors.open_local(options.local_path, house.front.for_local_socket(access));
    if (!opened) return about_option("--unix", opened.error());
  }
  if (!options.status_address.empty()) {
    RB_TRY(const auto where, open_status(house, options.status_address));
    details += (details.empty() ? "status=" : " status=") + where;
  }
  return details;
}

}  // namespace

Result<void> serve_http(policy::FrontPolicy policy, const HttpOptions& options) {
  RB_TRY(const auto user, platform::current_user());
  // Each client may have a call at work, which is a connection to the bridge; and some for everything else.
  constexpr std::size_t kOthers = 64;
  platform::make_room_for_descriptors(2 * policy.http.limits.connections + kOthers);
  House house(std::move(policy), user);
  RB_TRY(const auto details, open_all(house, options));

  asio::signal_set signals(house.io, SIGTERM, SIGINT);
  asio::steady_timer limit(house.io);
  signals.async_wait([&](const auto& ec, int) {
    if (ec) return;
    house.draining = true;
    house.doors.stop();
    limit.expires_after(kDrainLimit);
    limit.async_wait([&](const auto& late) {
      if (!late) house.io.stop();
    });
    signals.async_wait([&](const auto& again, int) {
      if (!again) house.io.stop();
    });
  });
  // The monitors are served to the last, and then cut off.
  asio::co_spawn(house.io, house.doors.run(), [&](const std::exception_ptr&) { house.io.stop(); });
  platform::tell_ready(options.ready_fd, details);
  house.io.run();
  return {};
}

}  // namespace repobridge::mcp
