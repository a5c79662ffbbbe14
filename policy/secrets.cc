#include "policy/secrets.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

constexpr std::string_view kRedacted = "[REDACTED]";
constexpr std::size_t kShownCharacters = 4;

// Group 1 of each is the secret.
struct Pattern {
  // By bytes: in the library's UTF-8 mode no pattern matches across a byte that is not UTF-8, which anybody
  // can put into a text.
  explicit Pattern(const char* text) : expression(text, RE2::Latin1) {}
  RE2 expression;
  // Whether a match needs a look at what it found: an assignment's value may be a function's name or a word.
  bool assignment = false;
  // Of a form that only one provider's secrets have.
  bool provider = false;
};

const std::vector<std::unique_ptr<Pattern>>& patterns() {
  static const auto kAll = [] {
    std::vector<std::unique_ptr<Pattern>> all;
    for (
        const char* text :
        {R"((-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\z)))",
         R"(\b((?:AKIA|ASIA)[0-9A-Z]{16})\b)", R"(\b(gh[pousr]_[A-Za-z0-9]{30,}))",
         R"(\b(github_pat_[A-Za-z0-9_]{22,}))", R"(\b(glpat-[A-Za-z0-9_-]{20,}))",
         R"(\b(xox[abeoprs]-[A-Za-z0-9-]{10,}))", R"(\b(sk-[A-Za-z0-9_-]{20,}))",
         R"(\b(AIza[0-9A-Za-z_-]{35}))", R"(\b(npm_[A-Za-z0-9]{36})\b)",
         R"(\b((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}))", R"(\b(pypi-[A-Za-z0-9_-]{30,}))"}) {
      all.push_back(std::make_unique<Pattern>(text));
      all.back()->provider = true;
    }
    for (const char* text :
         {R"(\b(pk_(?:live|test)_[A-Za-z0-9]{16,}))",
          R"(\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}))",
          R"((?i)\bauthorization["']?\s*[:=]\s*["']?(?:basic|bearer|token)\s+([A-Za-z0-9+/=._~-]{8,}))",
          R"([a-z][a-z0-9+.-]*://[^\s/:@"']*:([^\s/@"']+)@)"}) {
      all.push_back(std::make_unique<Pattern>(text));
    }
    all.push_back(std::make_unique<Pattern>(
        R"((?i)(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential)[A-Za-z0-9_.-]*["']?\s*)"
        R"((?::=|=>|:|=)\s*["']?([^\s"'`,;(){}\[\]<>]{8,}))"));
    all.back()->assignment = true;
    return all;
  }();
  return kAll;
}

// A value that is a call, a member or one plain word is code or prose; secrets have digits or sit in quotes.
bool looks_like_a_value(std::string_view value, std::string_view before, std::string_view after) {
  if (after.starts_with('(') || after.starts_with('[') || value.starts_with('$')) return false;
  const bool quoted = before.ends_with('"') || before.ends_with('\'');
  const bool digit = std::ranges::any_of(value, [](unsigned char c) { return std::isdigit(c) != 0; });
  return quoted || digit;
}

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

void find_matches(const Pattern& pattern, std::string_view text, std::vector<Span>& found) {
  std::size_t from = 0;
  std::array<re2::StringPiece, 2> groups;
  while (from <= text.size() && pattern.expression.Match(re2::StringPiece(text.data(), text.size()), from,
                                                         text.size(), RE2::UNANCHORED, groups.data(), 2)) {
    const auto begin = static_cast<std::size_t>(groups[1].data() - text.data());
    const auto end = begin + groups[1].size();
    if (!pattern.assignment ||
        looks_like_a_value(text.substr(begin, end - begin), text.substr(0, begin), text.substr(end))) {
      found.push_back({begin, end});
    }
    from = std::max(end, from + 1);
  }
}

// In order, those that overlap as one.
std::vector<Span> merge(std::vector<Span> found) {
  std::ranges::sort(found, {}, &Span::begin);
  std::vector<Span> merged;
  for (const auto& span : found) {
    if (!merged.empty() && span.begin < merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

std::vector<Span> all_matches(std::string_view text) {
  std::vector<Span> found;
  for (const auto& pattern : patterns()) find_matches(*pattern, text, found);
  return merge(std::move(found));
}

// Found in the text as it came, all of them, before any is replaced: one may begin, end or lie in another.
std::string replace_exact(std::string_view text, const std::vector<std::string>& exact) {
  std::vector<Span> found;
  for (const auto& secret : exact) {
    for (auto at = text.find(secret); at != std::string_view::npos; at = text.find(secret, at + 1)) {
      found.push_back({at, at + secret.size()});
    }
  }
  std::string out;
  std::size_t done = 0;
  for (const auto& span : merge(std::move(found))) {
    out += text.substr(done, span.begin - done);
    out += kRedacted;
    done = span.end;
  }
  return out + std::string(text.substr(done));
}

// How much of a secret is shown: a few characters, at most half of it, and of ASCII only, so that no
// character is cut in two.
std::size_t shown_length(std::string_view secret) {
  const auto first_other =
      std::ranges::find_if(secret, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  return std::min(
      {kShownCharacters, secret.size() / 2, static_cast<std::size_t>(first_other - secret.begin())});
}

}  // namespace

std::string mask_patterns(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (const auto& span : all_matches(text)) {
    out += text.substr(done, span.begin - done);
    out += text.substr(span.begin, shown_length(text.substr(span.begin, span.end - span.begin)));
    out += "…[masked]";
    done = span.end;
  }
  return out + std::string(text.substr(done));
}

std::vector<std::string_view> provider_secrets(std::string_view text) {
  std::vector<Span> found;
  for (const auto& pattern : patterns()) {
    if (pattern->provider) find_matches(*pattern, text, found);
  }
  std::vector<std::string_view> secrets;
  for (const auto& span : merge(std::move(found)))
    secrets.push_back(text.substr(span.begin, span.end - span.begin));
  return secrets;
}

Redactor::Redactor(SecretDetection mode, std::vector<std::string> exact)
    : mode_(mode), exact_(std::move(exact)) {
  std::erase_if(exact_, [](const std::string& secret) { return secret.size() < kShortestExactSecret; });
}

bool Redactor::holds_exact(std::string_view text) const {
  const std::string lowered = lower_ascii(text);
  return std::ranges::any_of(exact_, [&](const std::string& secret) {
    return text.find(secret) != std::string_view::npos ||
           lowered.find(lower_ascii(secret)) != std::string::npos;
  });
}

Result<void> Redactor::apply(Json& value) const {
  if (value.is_string()) {
    std::string text = replace_exact(value.get<std::string>(), exact_);
    if (mode_ == SecretDetection::block && !all_matches(text).empty()) {
      return refuse(codes::kSecretBlocked,
                    "the answer holds what looks like a secret, and policy withholds it");
    }
    value = mode_ == SecretDetection::mask ? mask_patterns(text) : text;
    return {};
  }
  if (value.is_array()) {
    for (auto& item : value) RB_CHECK(apply(item));
    return {};
  }
  if (!value.is_object()) return {};
  // Names of fields are ours, but for maps keyed by paths.
  Json replaced = Json::object();
  for (auto& [name, item] : value.items()) {
    RB_CHECK(apply(item));
    replaced[replace_exact(name, exact_)] = std::move(item);
  }
  value = std::move(replaced);
  return {};
}

}  // namespace repobridge::policy
