// Where a push may go. The URL and the branch come from the repository's own configuration, which whoever
// wrote the repository controls; so both must be allowed by the administrator.
//
// Promise: a PushUrl is one of https://, ssh://, user@host:path or file:///, without password, control
// characters, dot segments or percent-encoding, with a plain host name. allows() compares parts, never text
// prefixes: https://example.org/a/ does not allow https://example.org.evil/a/ nor https://example.org/ab/.
// Errors: REPO_PUSH_URL_INVALID for a URL of no allowed form. details never repeat the URL.
// Source: git-push(1), "GIT URLS"; docs/POLICY.md, "Push".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"

namespace repobridge::policy {

class PushUrl {
 public:
  enum class Scheme : std::uint8_t { https, ssh, file };

  static Result<PushUrl> parse(std::string_view url);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Scheme scheme() const { return scheme_; }
  [[nodiscard]] const std::string& host() const { return host_; }  // "" for file
  // The word for GIT_ALLOW_PROTOCOL.
  [[nodiscard]] std::string_view protocol() const;

 private:
  friend class PushAllowance;
  std::string text_;
  Scheme scheme_ = Scheme::https;
  std::string user_;
  std::string host_;  // lower case
  int port_ = 0;      // the scheme's default when the URL names none
  std::string path_;  // begins with '/', but for the relative path of user@host:path
};

// One entry of REPOBRIDGE_PUSH_ALLOWED: a URL that ends in "/" and stands for everything below it.
class PushAllowance {
 public:
  static Result<PushAllowance> parse(std::string_view prefix);
  [[nodiscard]] bool allows(const PushUrl& url) const;
  [[nodiscard]] const std::string& text() const { return prefix_.text(); }

 private:
  explicit PushAllowance(PushUrl prefix) : prefix_(std::move(prefix)) {}
  PushUrl prefix_;
};

// Whether a branch name may be pushed to: by globs over the whole name when there are any, else only to the
// local branch's own name.
bool push_branch_allowed(const std::vector<std::string>& globs, std::string_view local_branch,
                         std::string_view upstream_branch);

}  // namespace repobridge::policy
