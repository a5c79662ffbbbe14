#include "bridge/git/worker.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>

#include "bridge/environment.h"
#include "bridge/git/worker_protocol.h"
#include "bridge/parts.h"
#include "bridge/wire/frame.h"
#include "bridge/wire/timeout.h"
#include "platform/child_process.h"
#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;
using Socket = asio::local::stream_protocol::socket;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// What is no plain repository is for the worker to refuse by name.
Result<void> make_directories_for(const WorkerOrder& order) {
  if (order.power == Power::look) return {};
  const auto root = platform::open_directory(order.root);
  if (!root) return {};
  const auto git_directory = platform::open_beneath(root->get(), ".git", platform::OpenAs::directory);
  if (!git_directory) return {};
  return make_written_directories(git_directory->get(), order.power);
}

}  // namespace

struct Worker::Process {
  Process(platform::ChildProcess started, Socket connected)
      : child(std::move(started)), socket(std::move(connected)) {}

  void end() {
    boost::system::error_code ignored;
    socket.close(ignored);  // NOLINT(bugprone-unused-return-value)
    child.signal(SIGKILL);
  }

  platform::ChildProcess child;
  Socket socket;
};

Worker::Worker(std::unique_ptr<Process> process) : process_(std::move(process)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker::~Worker() = default;

Result<Worker> Worker::spawn(const asio::any_io_executor& executor, const bridge::Programs& programs,
                             int lease) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os_failure("make a socket pair", errno);
  }
  platform::UniqueFd ours(ends[0]);
  const platform::UniqueFd theirs(ends[1]);
  platform::SpawnRequest request;
  request.program = programs.git_worker;
  request.argv = {"repobridge-git"};
  request.environment = bridge::git_worker_environment();
  request.passed = {theirs.get()};
  if (lease >= 0) request.passed.push_back(lease);
  auto child = platform::ChildProcess::spawn(request);
  if (!child) return policy::refuse(codes::kGitFailed, "the git worker could not be started");
  Socket socket(executor, asio::local::stream_protocol(), ours.release());
  return Worker(std::make_unique<Process>(*std::move(child), std::move(socket)));
}

asio::awaitable<Result<Worker>> Worker::start(bridge::CallContext context, const bridge::Parts& parts,
                                              WorkerOrder order) {
  RB_CO_CHECK(make_directories_for(order));
  RB_CO_TRY(auto worker, spawn(context.executor, parts.programs, order.lease));
  Json begin{{"root", order.root},
             {"power", name_of(order.power)},
             {"scratch", order.scratch},
             {"sandbox_waived", parts.policy.allow_unsandboxed_git}};
  RB_CO_CHECK((co_await worker.ask(context, std::move(begin))).map([](const Json&) {}));
  co_return worker;
}

void Worker::watch(std::function<void()> ended) {
  process_->socket.async_wait(Socket::wait_read,
                              [ended = std::move(ended)](const boost::system::error_code& ec) {
                                if (!ec) ended();
                              });
}

void Worker::unwatch() {
  boost::system::error_code ignored;
  process_->socket.cancel(ignored);  // NOLINT(bugprone-unused-return-value)
}

asio::awaitable<Result<Json>> Worker::exchange(bridge::CallContext context, Json message) {
  Socket& socket = process_->socket;
  const auto end = std::min(context.deadline.at(), platform::Deadline::after(kQuestionLimit).at());
  const wire::Timeout limit(context.executor, end, [this] { process_->end(); });
  const std::stop_callback on_stop(context.stop, [this] { process_->end(); });
  const auto failed = [&]() -> Failure {
    if (context.stop.stop_requested()) return policy::refuse(codes::kCallCancelled, "the call was given up");
    if (limit.fired()) {
      return policy::refuse(codes::kGitTimeout, "git work on the repository took too long and was stopped");
    }
    return policy::refuse(codes::kGitFailed, "the git worker ended without an answer");
  };
  const std::string frame = wire::frame_of(policy::dump_json(message));
  const auto [write_ec, wrote] = co_await asio::async_write(socket, asio::buffer(frame), kAwait);
  if (write_ec) co_return failed();
  wire::FrameHeader header{};
  const auto [header_ec, header_got] = co_await asio::async_read(socket, asio::buffer(header), kAwait);
  if (header_ec) co_return failed();
  RB_CO_TRY(const auto length, wire::frame_length(header, kMaxWorkerFrameBytes));
  std::string body(length, '\0');
  const auto [body_ec, body_got] = co_await asio::async_read(socket, asio::buffer(body), kAwait);
  if (body_ec) co_return failed();
  auto answer = policy::parse_json(body);
  if (!answer) co_return policy::refuse(codes::kGitFailed, "the git worker gave a malformed answer");
  co_return *std::move(answer);
}

asio::awaitable<Result<Json>> Worker::ask(bridge::CallContext context, Json question) {
  RB_CO_TRY(const auto answer, co_await exchange(context, std::move(question)));
  co_return decode_answer(answer);
}

}  // namespace repobridge::git
