// What git and a remote said about a push: nothing is taken for success that did not say so of this very
// reference, and the remote's words are bounded and plain. The input is stdout,
// NUL, stderr, NUL, the log of ssh.
#include "bridge/git/push_report.h"

#include <algorithm>

#include "policy/codes.h"
#include "policy/json.h"
#include "policy/text.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

constexpr std::size_t kMaxWordsBytes = 2000;
const std::string kReference = "refs/heads/main";

void check_words(const std::string& words) {
  must(words.size() <= kMaxWordsBytes, "the remote's words are bounded");
  must(policy::is_utf8(words), "the remote's words are UTF-8");
  must(std::ranges::none_of(
           words, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F; }),
       "the remote's words hold no control characters");
}

void check_heads(std::string_view out) {
  for (const auto& head : git::parse_remote_heads(out)) {
    must(out.find(head.oid + "\t" + head.reference) != std::string_view::npos, "a head stands in the text");
    must(head.oid.size() == 40 && head.reference.starts_with("refs/heads/"), "a head is one");
  }
}

void check_report(std::string_view out, const git::Conversation& said) {
  const auto report = git::read_push_report(out, said, kReference);
  if (report) {
    must(out.find(":" + kReference + "\t") != std::string_view::npos, "success names the reference");
    return;
  }
  const Error& error = report.error();
  must(policy::find_code(error.code) != nullptr, "a refusal has a code for callers");
  const auto words = error.details == nullptr ? "" : error.details->value("remote_says", "");
  must(words == git::remote_words(said.err) || words.empty(),
       "a caller reads nothing but the remote's words");
  must(
      said.stage == git::Stage::sending || error.code != policy::codes::kPushInterrupted.name || !out.empty(),
      "before anything was sent nothing was interrupted");
}

}  // namespace

void one_input(std::string_view bytes) {
  using Scheme = policy::PushUrl::Scheme;
  const auto parts = parts_of(bytes, 3, '\0');
  check_words(git::remote_words(parts[1]));
  check_heads(parts[0]);
  for (const auto scheme : {Scheme::https, Scheme::ssh, Scheme::file}) {
    for (const auto stage : {git::Stage::asking, git::Stage::sending}) {
      check_report(parts[0], {.stage = stage, .scheme = scheme, .err = parts[1], .ssh_log = parts[2]});
    }
  }
}

}  // namespace repobridge::fuzz
