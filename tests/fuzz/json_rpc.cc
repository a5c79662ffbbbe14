// Lines from an MCP client: each is answered with one line of JSON-RPC or with silence, a request always
// with its own id and a batch with one array. The input is one line or more.
#include "mcp/json_rpc.h"

#include <algorithm>

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
  static bool is_answered(const mcp::RpcItem& item) {
    return !item || std::holds_alternative<mcp::RpcRequest>(*item);
  }

  static void check_answer(const Json& answer) {
    must(answer.is_object() && answer.value("jsonrpc", "") == "2.0", "an answer is JSON-RPC");
    must(answer.contains("result") != answer.contains("error"), "an answer is one of two");
  }

  // What was sent but for notes of progress; of a batch's array each element.
  [[nodiscard]] std::vector<Json> answers() const {
    std::vector<Json> answers;
    for (const auto& text : sent_) {
      must(text.find('\n') == std::string::npos, "an answer is one line");
      const auto value = policy::parse_json(text);
      must(value && (value->is_object() || (value->is_array() && !value->empty())), "an answer is JSON");
      if (value->is_array()) {
        answers.insert(answers.end(), value->begin(), value->end());
      } else if (!value->contains("method")) {
        answers.push_back(*value);
      }
    }
    std::ranges::for_each(answers, check_answer);
    return answers;
  }

  void check_answers(const mcp::Line& line) const {
    const auto heard = answers();
    const auto input = mcp::read_input(line.text);
    if (!input || line.too_long) {
      must(heard.size() == 1 && heard.front().contains("error"), "what is no message is an error");
      return;
    }
    const auto wanted = static_cast<std::size_t>(std::ranges::count_if(input->items, is_answered));
    const bool refused = input->batch && heard.size() == 1 && heard.front()["id"].is_null();
    must(refused || heard.size() == wanted, "a request has one answer, anything else that is right none");
    if (input->batch || heard.empty()) return;
    must(heard.front()["id"] == std::get<mcp::RpcRequest>(*input->items.front()).id, "an id is repeated");
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
