#include "bridge/git/push_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include "bridge/wire/bounds.h"
#include "policy/codes.h"
#include "policy/json.h"
#include "policy/repo_path.h"
#include "policy/text.h"

namespace repobridge::git {
namespace {

namespace codes = policy::codes;
using policy::Json;
using Scheme = policy::PushUrl::Scheme;

constexpr std::size_t kOidCharacters = 40;
constexpr std::size_t kMaxWordsBytes = 2000;
constexpr std::string_view kRemote = "remote: ";

// --- Why a remote was not reached --------------------------------------------------------------------------

// Whose words a row is looked for in.
enum class Speaker : std::uint8_t {
  git,      // whatever the transport
  https,    // git, about HTTPS
  ssh,      // the ssh client
  session,  // git, or the program at the other end of ssh, whose standard error nothing marks
};

struct Symptom {
  Speaker speaker;
  std::string_view begins;
  std::string_view has;
  policy::Code code;
  std::string_view message;
};

constexpr std::string_view kUserConfig =
    "the git configuration of the bridge's user cannot be read; `git config --list` as that user says where "
    "it "
    "breaks";
constexpr std::string_view kNoCredentials =
    "the remote asks for a user name and password, and git found none without asking somebody; have a "
    "credential "
    "helper of the bridge's user keep them (credential.helper in its global git configuration)";
constexpr std::string_view kBadCredentials =
    "the remote refuses the user name or password that the credential helper gave; store valid ones, for "
    "instance a new token, as the bridge's user";
constexpr std::string_view kNotThere =
    "the remote has no such repository, or hides it from these credentials; check the remote's URL and what "
    "the bridge's user may read";
constexpr std::string_view kNotAllowed =
    "the remote knows the user but does not allow this; have its administrator grant the right to push";
constexpr std::string_view kTooLarge =
    "the remote takes no push of this size; push it in parts with git, or have its limit raised";
constexpr std::string_view kProxy =
    "the proxy did not let the connection through; the administrator must look after the proxy that the "
    "bridge's user has set (http.proxy or HTTPS_PROXY)";
constexpr std::string_view kMoved =
    "the remote answers that the repository is elsewhere, and redirects are not followed; give the remote "
    "its "
    "new URL with git remote set-url, and have the administrator allow that";
constexpr std::string_view kServerFault =
    "the remote failed itself or has no time; try again later, or look after the server";
constexpr std::string_view kCertificate =
    "the remote's certificate cannot be verified; have the bridge's user trust its authority (http.sslCAInfo "
    "in "
    "the global git configuration), or have the server's certificate mended";
constexpr std::string_view kNoSuchHost =
    "the remote's host name is not known; check the remote's URL and the host's name service";
constexpr std::string_view kNotReached =
    "no connection to the remote came about or it broke at once; check that the server runs, its port, and "
    "the "
    "network between";
constexpr std::string_view kNothingInCommon =
    "the ssh server offers only methods that ssh does not accept; renew the server, or allow them for this "
    "host "
    "in ~/.ssh/config";
constexpr std::string_view kInterrupted =
    "the connection to the remote broke while the push was under way; whether it arrived is not known, so "
    "look "
    "at status after a fetch";
constexpr std::string_view kOtherHostKey =
    "the ssh server's host key is not the one that known_hosts has, or is revoked: it was set up anew, or "
    "somebody stands in between; find out which before known_hosts is changed";
constexpr std::string_view kNewHostKey =
    "the ssh server's host key is not known to the bridge's user, and none is accepted unseen; compare its "
    "fingerprint and add it to known_hosts, for instance by connecting once with ssh as that user";
constexpr std::string_view kNoKeyFits =
    "the ssh server takes none of the keys that were offered without asking somebody; load the right one "
    "into "
    "the agent that the bridge was started with (SSH_AUTH_SOCK), or name agent or key in ~/.ssh/config";
constexpr std::string_view kSshConfig =
    "the ssh configuration of the bridge's user is refused by ssh; `ssh -G HOST` as that user says where it "
    "breaks";

constexpr std::string_view kTwoDestinations =
    "the remote has another reference whose name ends like the upstream's branch (a tag "
    "refs/tags/refs/heads/…, "
    "for instance), and git cannot tell which is meant; have that one removed there";

// The first row that fits is the cause, so what is said beside something graver comes later.
constexpr std::array kSymptoms = {
    Symptom{Speaker::git, "fatal: bad config", "", codes::kUserConfigInvalid, kUserConfig},
    Symptom{Speaker::git, "fatal: bad ", " config value ", codes::kUserConfigInvalid, kUserConfig},
    Symptom{Speaker::git, "error: dst refspec ", " matches more than one", codes::kAmbiguousRemote,
            kTwoDestinations},

    Symptom{Speaker::https, "fatal: could not read Username for '", "", codes::kPushCredentialsMissing,
            kNoCredentials},
    Symptom{Speaker::https, "fatal: could not read Password for '", "", codes::kPushCredentialsMissing,
            kNoCredentials},
    Symptom{Speaker::https, "fatal: Authentication failed for '", "", codes::kPushCredentialsRejected,
            kBadCredentials},
    Symptom{Speaker::https, "fatal: repository '", "' not found", codes::kPushRemoteNotFound, kNotThere},
    Symptom{Speaker::https, "fatal: ", " not valid: is this a git repository?", codes::kPushRemoteNotFound,
            kNotThere},
    Symptom{Speaker::https, "fatal: unable to access '", "returned error: 403", codes::kPushForbidden,
            kNotAllowed},
    Symptom{Speaker::https, "fatal: unable to access '", "returned error: 407", codes::kPushUnreachable,
            kProxy},
    Symptom{Speaker::https, "fatal: unable to access '", "CONNECT tunnel failed", codes::kPushUnreachable,
            kProxy},
    Symptom{Speaker::https, "fatal: unable to access '", "from proxy after CONNECT", codes::kPushUnreachable,
            kProxy},
    Symptom{Speaker::https, "fatal: unable to access '", "Could not resolve proxy", codes::kPushUnreachable,
            kProxy},
    Symptom{Speaker::https, "fatal: unable to access '", "returned error: 30", codes::kPushRedirected,
            kMoved},
    Symptom{Speaker::https, "fatal: unable to access '", "returned error: ", codes::kPushRemoteError,
            kServerFault},
    Symptom{Speaker::https, "fatal: unable to access '", " certificate", codes::kPushCertificate,
            kCertificate},
    Symptom{Speaker::https, "fatal: unable to access '", " SSL CA cert", codes::kPushCertificate,
            kCertificate},
    Symptom{Speaker::https, "fatal: unable to access '", "Could not resolve host", codes::kPushHostNotFound,
            kNoSuchHost},
    Symptom{Speaker::https, "fatal: unable to access '", "", codes::kPushUnreachable, kNotReached},
    Symptom{Speaker::https, "error: RPC failed; HTTP 401", "", codes::kPushCredentialsRejected,
            kBadCredentials},
    Symptom{Speaker::https, "error: RPC failed; HTTP 403", "", codes::kPushForbidden, kNotAllowed},
    Symptom{Speaker::https, "error: RPC failed; HTTP 413", "", codes::kPushRejected, kTooLarge},

    Symptom{Speaker::ssh, "", " HOST IDENTIFICATION HAS CHANGED", codes::kPushHostKeyChanged, kOtherHostKey},
    Symptom{Speaker::ssh, "", " REVOKED HOST KEY DETECTED", codes::kPushHostKeyChanged, kOtherHostKey},
    Symptom{Speaker::ssh, "Host key verification failed.", "", codes::kPushHostKey, kNewHostKey},
    Symptom{Speaker::ssh, "", ": Permission denied (", codes::kPushSshDenied, kNoKeyFits},
    Symptom{Speaker::ssh, "", ": Too many authentication failures", codes::kPushSshDenied, kNoKeyFits},
    Symptom{Speaker::ssh, "", " bad configuration option", codes::kUserSshConfigInvalid, kSshConfig},
    Symptom{Speaker::ssh, "Bad owner or permissions on ", "", codes::kUserSshConfigInvalid, kSshConfig},
    Symptom{Speaker::ssh, "ssh: Could not resolve hostname ", "", codes::kPushHostNotFound, kNoSuchHost},
    Symptom{Speaker::ssh, "ssh: connect to host ", "", codes::kPushUnreachable, kNotReached},
    Symptom{Speaker::ssh, "kex_exchange_identification: ", "", codes::kPushUnreachable, kNotReached},
    Symptom{Speaker::ssh, "Unable to negotiate with ", "", codes::kPushUnreachable, kNothingInCommon},
    Symptom{Speaker::ssh, "Connection closed by ", "", codes::kPushInterrupted, kInterrupted},
    Symptom{Speaker::ssh, "Connection reset by ", "", codes::kPushInterrupted, kInterrupted},
    Symptom{Speaker::ssh, "Connection to ", " closed by remote host", codes::kPushInterrupted, kInterrupted},
    Symptom{Speaker::ssh, "Timeout, server ", " not responding", codes::kPushInterrupted, kInterrupted},

    // What the program at the other end says of its own repositories is all there is to know of them.
    Symptom{Speaker::session, "fatal: '", "' does not appear to be a git repository",
            codes::kPushRemoteNotFound, kNotThere},
    Symptom{Speaker::session, "ERROR: Repository not found", "", codes::kPushRemoteNotFound, kNotThere},
    Symptom{Speaker::session, "ERROR: Permission to ", " denied to ", codes::kPushForbidden, kNotAllowed},

    Symptom{Speaker::git, "error: RPC failed; ", "", codes::kPushInterrupted, kInterrupted},
    Symptom{Speaker::git, "fatal: the remote end hung up", "", codes::kPushInterrupted, kInterrupted},
    Symptom{Speaker::git, "send-pack: unexpected disconnect", "", codes::kPushInterrupted, kInterrupted},
};

// What git repeats of the remote's own words, without a mark at the end: they may hold line ends, so that
// what follows may be the remote's as well.
constexpr std::array<std::string_view, 2> kRepeated = {"fatal: remote error: ",
                                                       "error: remote unpack failed: "};

std::optional<std::string_view> repeated(std::string_view line) {
  for (const auto prefix : kRepeated) {
    if (line.starts_with(prefix)) return line.substr(prefix.size());
  }
  return std::nullopt;
}

// The lines that are not the remote's, up to where that can no longer be told.
std::vector<std::string> lines_of_git(std::string_view err) {
  std::vector<std::string> lines;
  for (auto& line : policy::split(err, '\n')) {
    if (repeated(line)) break;
    if (!line.starts_with(kRemote)) lines.push_back(std::move(line));
  }
  return lines;
}

struct Heard {
  std::vector<std::string> git;
  std::vector<std::string> ssh;
};

const std::vector<std::string>* lines_for(const Symptom& symptom, const Heard& heard, Scheme scheme) {
  switch (symptom.speaker) {
    case Speaker::git:
      return &heard.git;
    case Speaker::https:
      return scheme == Scheme::https ? &heard.git : nullptr;
    case Speaker::ssh:
      return scheme == Scheme::ssh ? &heard.ssh : nullptr;
    case Speaker::session:
      return scheme != Scheme::https ? &heard.git : nullptr;
  }
  return nullptr;
}

const Symptom* find_symptom(const Heard& heard, Scheme scheme) {
  const auto found = std::ranges::find_if(kSymptoms, [&](const Symptom& symptom) {
    const auto* lines = lines_for(symptom, heard, scheme);
    return lines != nullptr && std::ranges::any_of(*lines, [&](std::string_view line) {
             return line.starts_with(symptom.begins) && line.find(symptom.has) != std::string_view::npos;
           });
  });
  return found == kSymptoms.end() ? nullptr : &*found;
}

// --- The remote's own words --------------------------------------------------------------------------------

// Without the sequences that a terminal obeys: ESC [ parameters letter.
std::string without_sequences(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (!text.starts_with("\x1b[")) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const auto end = std::ranges::find_if(text.substr(2), [](char c) { return c >= 0x40 && c < 0x7F; });
    const auto length = static_cast<std::size_t>(end - text.begin());
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return out;
}

// Control characters, of ASCII and beyond (U+0080 to U+009F), and bytes that are not UTF-8 become visible.
std::string printable(std::string_view text) {
  std::string out;
  bool wide = false;
  for (const char c : without_sequences(text)) {
    const auto value = static_cast<unsigned char>(c);
    if (std::exchange(wide, value == 0xC2) && value >= 0x80 && value < 0xA0) {
      out.back() = '?';
    } else {
      out += (value >= 0x20 && value != 0x7F) || c == '\t' ? c : '?';
    }
  }
  return policy::is_utf8(out) ? out : policy::c_quoted(out);
}

std::optional<std::string_view> said_by_remote(std::string_view line) {
  if (line.starts_with(kRemote)) return line.substr(kRemote.size());
  return repeated(line);
}

Json words_detail(std::string_view err) { return Json{{"remote_says", remote_words(err)}}; }

Failure refuse_with_words(const policy::Code& code, std::string_view message, std::string_view err) {
  if (remote_words(err).empty()) return policy::refuse(code, std::string(message));
  return policy::refuse(code, std::string(message), words_detail(err));
}

// --- The report of a push ----------------------------------------------------------------------------------

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

Failure rejected(const ReportLine& line, const Conversation& said) {
  if (line.summary.starts_with("[rejected]")) {
    return policy::refuse(
        codes::kPushNonFastForward,
        "the remote branch has commits that this one lacks; fetch and merge or rebase with git, then "
        "push again");
  }
  if (!line.summary.starts_with("[remote rejected]")) {
    return refuse_with_words(codes::kPushInterrupted, kInterrupted, said.err);
  }
  auto details = words_detail(said.err);
  const std::string reason = printable(line.summary.substr(line.summary.find(']') + 1));
  details["reason"] = wire::cut_text(policy::trimmed(reason), kMaxWordsBytes);
  return policy::refuse(
      codes::kPushRejected,
      "the remote declined the push (a hook, a protected branch or a quota); details.reason and "
      "details.remote_says have its words",
      std::move(details));
}

}  // namespace

bool is_oid(std::string_view text) {
  return text.size() == kOidCharacters &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

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
    const auto said = said_by_remote(line);
    if (!said) continue;
    const std::string text(policy::trimmed(printable(*said)));
    if (text.empty()) continue;
    words += (words.empty() ? "" : "\n") + text;
    if (words.size() > kMaxWordsBytes) break;
  }
  return std::string(wire::cut_text(words, kMaxWordsBytes));
}

Failure conversation_failure(const Conversation& said) {
  Heard heard{.git = lines_of_git(said.err), .ssh = {}};
  heard.ssh = said.ssh_log ? policy::split(*said.ssh_log, '\n') : heard.git;
  const auto* symptom = find_symptom(heard, said.scheme);
  if (symptom != nullptr && symptom->code.name == codes::kPushInterrupted.name &&
      said.stage == Stage::asking) {
    return refuse_with_words(codes::kPushUnreachable, kNotReached, said.err);
  }
  if (symptom != nullptr) return refuse_with_words(symptom->code, symptom->message, said.err);
  if (!remote_words(said.err).empty()) {
    return refuse_with_words(codes::kPushRejected,
                             "the remote ended the conversation; details.remote_says has its words",
                             said.err);
  }
  return policy::refuse(
      codes::kPushFailed,
      "git failed to push for a reason that is not recognised; try the same push with git as "
      "the bridge's user");
}

Result<PushResult> read_push_report(std::string_view out, const Conversation& said,
                                    const std::string& reference) {
  for (const auto& text : policy::split(out, '\n')) {
    const auto line = parse_line(text);
    if (!line || line->to != reference) continue;
    if (line->flag == '=') return PushResult::up_to_date;
    if (line->flag == '!') return rejected(*line, said);
    if (line->flag == ' ' || line->flag == '*') return PushResult::pushed;
  }
  return conversation_failure(said);
}

}  // namespace repobridge::git
