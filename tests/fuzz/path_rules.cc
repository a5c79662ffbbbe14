// Deny rules: letters of either case are alike, more globs deny more, a denied directory denies all below it,
// and what was written means the same when read back. The last line of the input is the path; those above it
// are globs.
#include "policy/path_rules.h"

#include "policy/text.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

using policy::PathRules;

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

void check_path(const PathRules& rules, const PathRules& defaults, const policy::RepoPath& path) {
  const std::string& bytes = path.bytes();
  must(rules.check(path).has_value() == rules.visible(bytes), "both questions have one answer");
  must(!rules.denied(bytes) || !rules.visible(bytes), "a denied path is out of sight");
  must(rules.denied(upper(bytes)) == rules.denied(bytes), "letters of either case are alike");
  must(rules.denied(bytes) || !defaults.denied(bytes), "more globs deny more");
  must(defaults.denied(bytes + "/.ssh/x") && defaults.denied("x/" + bytes + "/id_rsa"),
       "the built-in list holds at any depth");
  must(!rules.visible(bytes + "/.x"), "a dot hides at any depth");

  const auto again = PathRules::from_json(rules.to_json(), "rules");
  must(again && again->visible(bytes) == rules.visible(bytes), "what was written means the same");
}

}  // namespace

void one_input(std::string_view bytes) {
  auto lines = policy::split(bytes, '\n');
  const auto path = policy::RepoPath::parse(lines.back());
  lines.pop_back();
  const auto rules = PathRules::make({.extra_deny_globs = lines});
  const auto defaults = PathRules::make({});
  if (!rules) {
    must(rules.error().message.starts_with("glob "), "a refusal names the glob by its place");
    return;
  }
  if (path) check_path(*rules, *defaults, *path);
}

}  // namespace repobridge::fuzz
