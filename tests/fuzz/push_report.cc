// What git and a remote said about a push: nothing is taken for success that did not say so of this very
// reference, and the remote's words are bounded and plain. The input is stdout, NUL, stderr.
#include "bridge/git/push_report.h"

#include <algorithm>

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

}  // namespace

void one_input(std::string_view bytes) {
  const auto parts = parts_of(bytes, 2, '\0');
  check_words(git::remote_words(parts[1]));
  check_heads(parts[0]);

  const auto report = git::read_push_report(parts[0], parts[1], kReference);
  if (!report) {
    must(report.error().code.starts_with("REPO_PUSH_"), "a refusal is one of a push");
    return;
  }
  must(parts[0].find(":" + kReference + "\t") != std::string_view::npos, "success names the reference");
}

}  // namespace repobridge::fuzz
