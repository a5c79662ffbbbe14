#include "policy/push_target.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

constexpr std::size_t kMaxUrlBytes = 1024;
constexpr int kHttpsPort = 443;
constexpr int kSshPort = 22;

Failure bad_url(std::string problem) { return refuse(codes::kPushUrlInvalid, std::move(problem)); }

bool is_plain(std::string_view url) {
  return std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7F && c != '\\' && c != '%'; });
}

// As git's transport.c reads it: characters of a scheme, then "::". Elsewhere it only belongs to an IPv6
// host.
bool names_helper(std::string_view url) {
  const auto scheme_end = std::ranges::find_if(
      url, [](unsigned char c) { return std::isalnum(c) == 0 && c != '+' && c != '-' && c != '.'; });
  return std::string_view(scheme_end, url.end()).starts_with("::") ||
         (url.find("::") != std::string_view::npos && url.find('[') == std::string_view::npos);
}

Result<void> check_host(std::string_view host) {
  const bool name = !host.empty() && host.front() != '-' && host.front() != '.' &&
                    std::ranges::all_of(host, [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
                    });
  const bool ipv6 = host.size() > 2 && host.front() == '[' && host.back() == ']' &&
                    std::ranges::all_of(host.substr(1, host.size() - 2), [](unsigned char c) {
                      return std::isxdigit(c) != 0 || c == ':' || c == '.';
                    });
  if (!name && !ipv6) return bad_url("the remote's URL has no plain host name");
  return {};
}

Result<void> check_user(std::string_view user) {
  const bool plain = !user.empty() && user.front() != '-' && std::ranges::all_of(user, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '+';
  });
  if (!plain) {
    return bad_url(
        "the remote's URL carries a password or an unusual user name; keep credentials in a "
        "credential helper or an ssh agent");
  }
  return {};
}

Result<void> check_path(std::string_view path) {
  const auto parts = split(path, '/');
  // A leading "/" gives an empty first part, a prefix's closing "/" an empty last one.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool end = i == 0 || i + 1 == parts.size();
    if ((parts[i].empty() && !end) || parts[i] == "." || parts[i] == "..") {
      return bad_url("the path of the remote's URL has an empty, '.' or '..' segment");
    }
  }
  if (path.empty() || path == "-" || path.front() == '-') return bad_url("the remote's URL has no path");
  if (path.find('?') != std::string_view::npos || path.find('#') != std::string_view::npos) {
    return bad_url("the remote's URL has a query or a fragment");
  }
  return {};
}

Result<int> parse_port(std::string_view text) {
  int port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  constexpr int kHighest = 65535;
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || port < 1 || port > kHighest) {
    return bad_url("the port of the remote's URL is no number from 1 to 65535");
  }
  return port;
}

struct Authority {
  std::string_view user;
  std::string_view host;
  std::optional<std::string_view> port;
};

Authority split_authority(std::string_view authority) {
  Authority parts;
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    parts.user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  const auto bracket = authority.rfind(']');
  const auto colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  parts.host = authority.substr(0, colon);
  if (colon != std::string_view::npos) parts.port = authority.substr(colon + 1);
  return parts;
}

}  // namespace

std::string_view PushUrl::protocol() const {
  switch (scheme_) {
    case Scheme::https:
      return "https";
    case Scheme::ssh:
      return "ssh";
    case Scheme::file:
      return "file";
  }
  std::abort();
}

Result<PushUrl> PushUrl::parse(std::string_view url) {
  if (url.empty() || url.size() > kMaxUrlBytes || url.front() == '-' || !is_plain(url)) {
    return bad_url("the remote's URL is empty, too long or has characters that no plain URL has");
  }
  if (names_helper(url)) {
    return bad_url("the remote's URL names a remote helper; only https, ssh and a pinned file URL are known");
  }
  PushUrl parsed;
  parsed.text_ = std::string(url);
  const auto separator = url.find("://");
  std::string_view authority;
  if (separator != std::string_view::npos) {
    const auto scheme = url.substr(0, separator);
    url.remove_prefix(separator + 3);
    // Exact spelling: git compares schemes so, and a filter that folds case where git does not is a hole.
    if (scheme == "https") {
      parsed.scheme_ = Scheme::https;
    } else if (scheme == "ssh") {
      parsed.scheme_ = Scheme::ssh;
    } else if (scheme == "file") {
      parsed.scheme_ = Scheme::file;
    } else {
      return bad_url("the scheme of the remote's URL is not https, ssh or file (in lower case)");
    }
    const auto slash = url.find('/');
    if (slash == std::string_view::npos) return bad_url("the remote's URL has no path");
    authority = url.substr(0, slash);
    parsed.path_ = std::string(url.substr(slash));
  } else {
    const auto colon = url.find(':', url.find(']') == std::string_view::npos ? 0 : url.find(']'));
    const auto slash = url.find('/');
    if (colon == std::string_view::npos || slash < colon) {
      return bad_url("the remote's URL is a local path; only https, ssh and a pinned file URL are known");
    }
    parsed.scheme_ = Scheme::ssh;
    authority = url.substr(0, colon);
    parsed.path_ = std::string(url.substr(colon + 1));
  }
  RB_CHECK(check_path(parsed.path_));
  if (parsed.scheme_ == Scheme::file) {
    if (!authority.empty()) return bad_url("a file URL names no host: file:///path");
    return parsed;
  }
  const auto parts = split_authority(authority);
  RB_CHECK(check_host(parts.host));
  if (authority.find('@') != std::string_view::npos) RB_CHECK(check_user(parts.user));
  parsed.user_ = std::string(parts.user);
  parsed.host_ = lower_ascii(parts.host);
  parsed.port_ = parsed.scheme_ == Scheme::https ? kHttpsPort : kSshPort;
  // A colon without a number: git's ssh takes it for a part of the host's name.
  if (parts.port) {
    RB_TRY(parsed.port_, parse_port(*parts.port));
  }
  return parsed;
}

Result<PushAllowance> PushAllowance::parse(std::string_view prefix) {
  RB_TRY(auto url, PushUrl::parse(prefix));
  if (url.scheme_ == PushUrl::Scheme::file) {
    return bad_url("a file URL is allowed only by its exact form, in WORKDIR_XX_PUSH_URL");
  }
  if (!url.path_.ends_with('/')) return bad_url("an allowed prefix must end in '/'");
  return PushAllowance(std::move(url));
}

bool PushAllowance::allows(const PushUrl& url) const {
  return url.scheme_ == prefix_.scheme_ && url.user_ == prefix_.user_ && url.host_ == prefix_.host_ &&
         url.port_ == prefix_.port_ && url.path_.size() > prefix_.path_.size() &&
         url.path_.starts_with(prefix_.path_);
}

bool push_branch_allowed(const std::vector<std::string>& globs, std::string_view local_branch,
                         std::string_view upstream_branch) {
  if (globs.empty()) return local_branch == upstream_branch;
  return std::ranges::any_of(
      globs, [&](const std::string& glob) { return glob_matches(glob, upstream_branch, LetterCase::exact); });
}

}  // namespace repobridge::policy
