// Secrets that must not reach a caller, found in the values of an answer.
//
// Promise: two layers, on the value tree and never on serialised text. Exact: the given values are replaced
// by [REDACTED] wherever they stand, always. Patterns: provider keys, tokens, private keys, passwords in
// assignments, headers and URLs are masked down to their first characters (mode mask), refuse the answer
// (mode block: SECRET_BLOCKED), or stay (mode off). Bare digests and commit ids match no pattern. Threads: a
// Redactor may be used from any, once made. Source: RE2 syntax, linear in the text whatever the pattern;
// docs/POLICY.md, "Secrets".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "policy/json.h"
#include "policy/policy.h"

namespace repobridge::policy {

// Exact values shorter than this would hit ordinary words.
inline constexpr std::size_t kShortestExactSecret = 8;

class Redactor {
 public:
  Redactor(SecretDetection mode, std::vector<std::string> exact);
  [[nodiscard]] Result<void> apply(Json& value) const;
  // Whether one of the exact values stands in the text, in capitals or small letters, whatever the mode.
  [[nodiscard]] bool holds_exact(std::string_view text) const;

 private:
  SecretDetection mode_;
  std::vector<std::string> exact_;
};

// The text with every match of a pattern masked.
std::string mask_patterns(std::string_view text);

// What in the text has the form of a known provider's secret: views into it.
std::vector<std::string_view> provider_secrets(std::string_view text);

}  // namespace repobridge::policy
