// A client's bytes on one connection, in pieces: whatever they are, what comes back is a row of whole
// answers, each refusal has a body of JSON, and the connection ends.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <cstring>

#include "mcp/http_front.h"
#include "tests/fuzz/target.h"
#include "tests/unit/mcp/samples.h"

namespace repobridge::fuzz {
namespace {

constexpr std::size_t kMaxBodyBytes = 4096;

class Pieces : public mcp::HttpStream {
 public:
  Pieces(const asio::any_io_executor& executor, std::string_view bytes, std::string& written)
      : bytes_(bytes), written_(&written), stays_(executor) {
    stays_.expires_at(asio::steady_timer::time_point::max());
  }

  asio::awaitable<bool> begin() override { co_return true; }
  // The first byte of each piece says how long it is.
  asio::awaitable<std::size_t> read_some(std::span<char> into) override {
    if (bytes_.empty() || closed_) co_return 0;
    const auto wanted = static_cast<std::size_t>(static_cast<unsigned char>(bytes_.front())) + 1;
    bytes_.remove_prefix(1);
    const auto count = std::min({wanted, bytes_.size(), into.size()});
    std::memcpy(into.data(), bytes_.data(), count);
    bytes_.remove_prefix(count);
    co_return count;
  }
  // Only its sending ends; it reads to the last.
  asio::awaitable<void> left() override {
    if (!closed_) (void)co_await stays_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  asio::awaitable<bool> write(std::string_view bytes) override {
    written_->append(bytes);
    co_return !closed_;
  }
  void end_writing() override {}
  void close() override {
    closed_ = true;
    stays_.cancel();
  }

 private:
  std::string_view bytes_;
  std::string* written_;
  asio::steady_timer stays_;
  bool closed_ = false;
};

const mcp::Server& server() {
  static const mcp::Server kServer{mcp::sample_policy(),
                                   {.name = "repobridge", .title = "Repobridge", .version = "0"}};
  return kServer;
}

// The first answer of the row, taken off it.
void take_answer(std::string_view& row) {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (row.starts_with(kContinue)) return row.remove_prefix(kContinue.size());
  must(row.starts_with("HTTP/1.1 "), "an answer begins with its status");
  const bool refused = row[9] >= '4';
  const auto end = row.find("\r\n\r\n");
  must(end != std::string_view::npos, "an answer has a head");
  const auto head = row.substr(0, end);
  row.remove_prefix(end + 4);
  const auto length = head.find("Content-Length: ");
  if (length == std::string_view::npos) {
    const auto last = row.find("0\r\n\r\n");
    must(last != std::string_view::npos, "a stream ends");
    return row.remove_prefix(last + 5);
  }
  std::size_t bytes = 0;
  (void)std::from_chars(head.data() + length + 16, head.data() + head.size(), bytes);
  // The answer to HEAD has none of the body that it tells of.
  if (row.empty() || row.starts_with("HTTP/1.1 ")) return;
  must(row.size() >= bytes, "an answer is whole");
  must(!refused || policy::parse_json(row.substr(0, bytes)), "a refusal has a body of JSON");
  row.remove_prefix(bytes);
}

}  // namespace

void one_input(std::string_view bytes) {
  asio::io_context io;
  mcp::Metrics metrics;
  mcp::HttpFront front({.server = server(),
                        .start_call =
                            [&io](const wire::Request&, mcp::CallHandlers handlers) {
                              asio::post(io, [handlers = std::move(handlers)] {
                                handlers.progress({.elapsed_ms = 1000});
                                handlers.ended(wire::Outcome{.is_error = false, .body = mcp::Json::object()});
                              });
                              return [] {};
                            },
                        .hosts = mcp::HostRules(policy::HttpPolicy{}),
                        .limits = {},
                        .metrics = metrics,
                        .report = [](const Error&) {},
                        .documents = {}});
  std::string written;
  bool ended = false;
  {
    mcp::HttpConnection connection(
        io.get_executor(),
        {.stream = std::make_unique<Pieces>(io.get_executor(), bytes, written),
         .handler = front.for_local_socket({.login = "someone", .mode = "unix", .write = true}),
         .limits = {},
         .max_body_bytes = kMaxBodyBytes,
         .answered = [](int) {}});
    asio::co_spawn(io, connection.serve(), [&](const std::exception_ptr& thrown) {
      must(!thrown, "nothing throws");
      ended = true;
    });
    io.run();
  }
  io.restart();
  io.run();
  must(ended, "a connection ends with its bytes");
  std::string_view row = written;
  while (!row.empty()) take_answer(row);
}

}  // namespace repobridge::fuzz
