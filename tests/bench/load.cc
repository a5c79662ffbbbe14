// Clients of a front over HTTP, each of which asks again as soon as it has its answer, and what they saw.
//
//   bench_load PORT CLIENTS SECONDS BODY TOKEN...    the body of every request; clients take turns with the
//   tokens
//
// One thread and a connection for each client, which is kept. Printed is one JSON object: the calls that were
// answered well, the seconds they took in all, quantiles of their milliseconds, the median of each client,
// and what went wrong. tests/bench/load starts it beside a front and says what it means.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// The number in text, or 0.
std::size_t number_in(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string request_of(const std::string& body, const std::string& token) {
  return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " +
         token +
         "\r\nAccept: application/json, text/event-stream\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

struct Client {
  Client(asio::io_context& io, std::string bytes) : socket(io), request(std::move(bytes)) {}

  tcp::socket socket;
  std::string request;
  std::string received;
  std::vector<double> took;  // ms
  std::string trouble;       // ends it

  asio::awaitable<void> ask_until(Clock::time_point end);

 private:
  asio::awaitable<bool> ask();
};

// Whether it was answered, and well.
asio::awaitable<bool> Client::ask() {
  constexpr std::string_view kLength = "Content-Length: ";
  const auto [unsent, put] = co_await asio::async_write(socket, asio::buffer(request), kAwait);
  if (unsent) co_return false;
  auto buffer = asio::dynamic_buffer(received);
  const auto [no_head, head_size] = co_await asio::async_read_until(socket, buffer, "\r\n\r\n", kAwait);
  if (no_head) co_return false;
  const auto field = received.find(kLength);
  const auto size =
      field < head_size ? number_in(std::string_view(received).substr(field + kLength.size())) : 0;
  const auto whole = head_size + size;
  if (whole > received.size()) {
    const auto missing = asio::transfer_exactly(whole - received.size());
    const auto [no_body, got] = co_await asio::async_read(socket, buffer, missing, kAwait);
    if (no_body) co_return false;
  }
  const bool good = received.starts_with("HTTP/1.1 200") &&
                    received.find("\"isError\":true") == std::string::npos &&
                    received.find("\"result\":") != std::string::npos;
  if (good) received.erase(0, whole);
  co_return good;
}

asio::awaitable<void> Client::ask_until(Clock::time_point end) {
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    const bool good = co_await ask();
    if (!good) {
      trouble = received.empty() ? "the connection ended" : received;
      co_return;
    }
    took.push_back(Milliseconds(Clock::now() - begin).count());
  }
}

double quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<std::size_t>(place)];
}

nlohmann::json report_of(std::list<Client>& clients, double seconds) {
  constexpr std::size_t kShown = 300;
  std::vector<double> all;
  nlohmann::json medians = nlohmann::json::array();
  nlohmann::json troubles = nlohmann::json::array();
  for (auto& client : clients) {
    all.insert(all.end(), client.took.begin(), client.took.end());
    medians.push_back(quantile(client.took, 0.5));
    if (!client.trouble.empty()) troubles.push_back(client.trouble.substr(0, kShown));
  }
  return {{"calls", all.size()},
          {"seconds", seconds},
          {"p50", quantile(all, 0.5)},
          {"p99", quantile(all, 0.99)},
          {"most", quantile(all, 1)},
          {"medians", std::move(medians)},
          {"troubles", std::move(troubles)}};
}

nlohmann::json load(const tcp::endpoint& front, std::size_t count, std::chrono::seconds time,
                    const std::string& body, const std::vector<std::string>& tokens) {
  asio::io_context io{1};
  std::list<Client> clients;
  for (std::size_t n = 0; n < count; ++n) {
    auto& client = clients.emplace_back(io, request_of(body, tokens[n % tokens.size()]));
    client.socket.connect(front);
    client.socket.set_option(tcp::no_delay(true));
  }
  const auto begin = Clock::now();
  for (auto& client : clients) asio::co_spawn(io, client.ask_until(begin + time), asio::detached);
  io.run();
  return report_of(clients, std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kFirstToken = 5;
  if (argc <= kFirstToken) {
    return std::fprintf(stderr, "usage: bench_load PORT CLIENTS SECONDS BODY TOKEN...\n"), 2;
  }
  try {
    const tcp::endpoint front(asio::ip::address_v4::loopback(),
                              static_cast<unsigned short>(number_in(argv[1])));
    const std::vector<std::string> tokens(argv + kFirstToken, argv + argc);
    const auto report =
        load(front, number_in(argv[2]), std::chrono::seconds(number_in(argv[3])), argv[4], tokens);
    std::printf("%s\n", report.dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "bench_load: %s\n", error.what()), 1;
  }
}
