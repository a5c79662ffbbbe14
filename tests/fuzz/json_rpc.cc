// Lines from an MCP client: each is answered with one line of JSON-RPC or with silence, and a request always
// with its own id. The input is one line or more.
#include "mcp/json_rpc.h"

#include "mcp/line_splitter.h"
#include "mcp/session.h"
#include "tests/fuzz/target.h"
#include "tests/unit/mcp/samples.h"

namespace repobridge::fuzz {
namespace {

using mcp::Json;

constexpr std::size_t kMaxLineBytes = 4096;

// One for all conversations: it has no state, and its table of tools takes longer to make than they do.
const mcp::Server& server() {
  static const mcp::Server kServer{mcp::sample_policy(),
                                   {.name = "repobridge", .title = "Repobridge", .version = "0"}};
  return kServer;
}

// A conversation whose calls end, each, as soon as its line was read.
class Conversation {
 public:
  void hear(const mcp::Line& line) {
    sent_.clear();
    session_.receive(line);
    for (const auto& handlers : std::exchange(started_, {})) {
      handlers.progress({.elapsed_ms = 1000});
      handlers.ended(wire::Outcome{.is_error = false, .body = Json::object()});
    }
    check_answers(line);
  }

 private:
  void check_answers(const mcp::Line& line) const {
    std::vector<Json> answers;
    for (const auto& text : sent_) {
      must(text.find('\n') == std::string::npos, "an answer is one line");
      const auto value = policy::parse_json(text);
      must(value && value->is_object() && value->value("jsonrpc", "") == "2.0", "an answer is JSON-RPC");
      if (!value->contains("method")) answers.push_back(*value);
    }
    const auto message = mcp::read_message(line.text);
    const bool silent = message && !line.too_long && !std::holds_alternative<mcp::RpcRequest>(*message);
    must(answers.size() == (silent ? 0U : 1U), "a request has one answer, anything else that is right none");
    if (silent) return;
    const bool request = message && !line.too_long;
    must(answers.front().contains("result") != answers.front().contains("error"), "an answer is one of two");
    must(!request || answers.front()["id"] == std::get<mcp::RpcRequest>(*message).id, "an id is repeated");
    must(request || answers.front().contains("error"), "what is no request is an error");
  }

  std::vector<std::string> sent_;
  std::vector<mcp::CallHandlers> started_;
  mcp::Session session_{{.server = server(),
                         .caller = {.login = "someone", .mode = "stdio"},
                         .send = [this](std::string text) { sent_.push_back(std::move(text)); },
                         .start_call =
                             [this](const wire::Request& request, mcp::CallHandlers handlers) {
                               must(wire::decode_from_client(wire::encode(request)).has_value(),
                                    "a call that is passed on is a message");
                               started_.push_back(std::move(handlers));
                               return [] {};
                             },
                         .report = [](const Error&) {}}};
};

}  // namespace

void one_input(std::string_view bytes) {
  Conversation conversation;
  mcp::LineSplitter splitter(kMaxLineBytes);
  const auto take = [&](const mcp::Line& line) { conversation.hear(line); };
  splitter.feed(bytes, take);
  splitter.finish(take);
}

}  // namespace repobridge::fuzz
