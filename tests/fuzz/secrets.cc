// Secrets in answers: after masking nothing of the exact values is left, and what a pattern found is gone.
// The first line of the input is an exact secret; the rest is the text.
#include "policy/secrets.h"

#include "policy/text.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {

void one_input(std::string_view bytes) {
  using policy::Json;
  const auto parts = parts_of(bytes, 2, '\n');
  const std::string secret(parts[0]);
  const std::string text(parts[1]);
  Json value{{"text", text}, {"list", Json::array({text})}, {text, 1}};
  must(policy::Redactor(policy::SecretDetection::off, {secret}).apply(value).has_value(),
       "without patterns nothing is refused");
  const bool long_enough = secret.size() >= policy::kShortestExactSecret;
  // What replaces a secret may itself make up one that is a part of it.
  const bool like_the_mark = secret.find_first_not_of("[REDACTED]") == std::string::npos;
  must(!long_enough || like_the_mark || value["list"][0] == value["text"],
       "a text is the same wherever it stands");
  must(!long_enough || like_the_mark || value["text"].get<std::string>().find(secret) == std::string::npos,
       "an exact secret is gone");

  const std::string masked = policy::mask_patterns(text);
  must(!policy::is_utf8(text) || policy::is_utf8(masked), "masking cuts no character");
  Json withheld = text;
  const bool refused = !policy::Redactor(policy::SecretDetection::block, {}).apply(withheld).has_value();
  must(refused == (masked != text), "what is masked is what would be withheld");
}

}  // namespace repobridge::fuzz
