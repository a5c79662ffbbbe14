#include "bridge/git/push_report.h"

#include <algorithm>

#include "bridge/wire/bounds.h"
#include "policy/codes.h"
#include "policy/repo_path.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;

constexpr std::size_t kOidCharacters = 40;
constexpr std::size_t kMaxWordsBytes = 2000;
constexpr std::string_view kRemote = "remote: ";

bool is_oid(std::string_view text) {
  return text.size() == kOidCharacters &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Control characters, bytes that are not UTF-8 and what a terminal obeys become visible or go.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto value = static_cast<unsigned char>(c);
    out += (value >= 0x20 && value != 0x7F) || c == '\t' ? c : '?';
  }
  return policy::is_utf8(out) ? out : policy::c_quoted(out);
}

Json words_detail(std::string_view err) { return Json{{"remote_says", remote_words(err)}}; }

struct ReportLine {
  char flag;
  std::string_view to;
  std::string_view summary;
};

// FLAG TAB FROM:TO TAB SUMMARY
std::optional<ReportLine> parse_line(std::string_view line) {
  if (line.size() < 2 || line[1] != '\t') return std::nullopt;
  const auto rest = line.substr(2);
  const auto tab = rest.find('\t');
  if (tab == std::string_view::npos) return std::nullopt;
  const auto refs = rest.substr(0, tab);
  const auto colon = refs.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return ReportLine{.flag = line[0], .to = refs.substr(colon + 1), .summary = rest.substr(tab + 1)};
}

Failure rejected(const ReportLine& line, std::string_view err) {
  const bool by_us = line.summary.starts_with("[rejected]");
  if (by_us) {
    return policy::refuse(
        codes::kPushNonFastForward,
        "the remote branch has commits that this one lacks; fetch and merge or rebase with git, then "
        "push again");
  }
  return policy::refuse(
      codes::kPushRejected,
      "the remote declined the push (a hook, a protected branch or a quota); details.remote_says has "
      "its words",
      words_detail(err));
}

}  // namespace

std::vector<RemoteHead> parse_remote_heads(std::string_view text) {
  std::vector<RemoteHead> heads;
  for (const auto& line : policy::split(text, '\n')) {
    const auto tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string oid = line.substr(0, tab);
    const std::string reference = line.substr(tab + 1);
    if (is_oid(oid) && reference.starts_with("refs/heads/"))
      heads.push_back({.oid = oid, .reference = reference});
  }
  return heads;
}

std::string remote_words(std::string_view err) {
  std::string words;
  for (const auto& line : policy::split(err, '\n')) {
    // The sideband ends its lines with an erase sequence for terminals.
    std::string_view text = line;
    text = text.substr(0, text.find('\x1b'));
    if (!text.starts_with(kRemote)) continue;
    text.remove_prefix(kRemote.size());
    text = policy::trimmed(text);
    if (text.empty()) continue;
    words += (words.empty() ? "" : "\n") + printable(text);
    if (words.size() > kMaxWordsBytes) break;
  }
  return std::string(wire::cut_text(words, kMaxWordsBytes));
}

Result<PushResult> read_push_report(std::string_view out, std::string_view err,
                                    const std::string& reference) {
  for (const auto& text : policy::split(out, '\n')) {
    const auto line = parse_line(text);
    if (!line || line->to != reference) continue;
    if (line->flag == '=') return PushResult::up_to_date;
    if (line->flag == '!') return rejected(*line, err);
    if (line->flag == ' ' || line->flag == '*') return PushResult::pushed;
  }
  return policy::refuse(
      codes::kPushFailed,
      "git could not reach the remote or was not let in; try the same push with git as the bridge's "
      "user",
      words_detail(err));
}

}  // namespace repobridge::git
