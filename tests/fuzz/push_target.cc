// Where a push may go: an accepted URL carries no password and reads back the same; an allowance never allows
// another host. The first line of the input is the URL, the second the allowed prefix.
#include "policy/push_target.h"

#include "policy/codes.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

using policy::PushUrl;

void check_url(const PushUrl& url) {
  const std::string& text = url.text();
  const auto again = PushUrl::parse(text);
  must(again && again->text() == text && again->host() == url.host(), "a URL reads back the same");
  must(text.find_first_of(" \t\n\\%") == std::string::npos, "a URL is plain");
  must(text.front() != '-', "a URL is no option");
  must(text.find("::") == std::string::npos || text.find('[') != std::string::npos, "no remote helper");
  must(url.host().empty() == (url.scheme() == PushUrl::Scheme::file), "only a file has no host");
  const auto begin = text.find("://");
  if (begin == std::string::npos) return;
  const std::string authority = text.substr(begin + 3, text.find('/', begin + 3) - begin - 3);
  const auto at = authority.find('@');
  must(at == std::string::npos || authority.find(':') > at, "a URL carries no password");
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto parts = parts_of(bytes, 2, '\n');
  const auto url = PushUrl::parse(parts[0]);
  if (!url) {
    must(url.error().code == policy::codes::kPushUrlInvalid.name, "a refusal is REPO_PUSH_URL_INVALID");
    return;
  }
  check_url(*url);
  const auto prefix = PushUrl::parse(parts[1]);
  const auto allowance = policy::PushAllowance::parse(parts[1]);
  must(!allowance || prefix.has_value(), "an allowance is a URL");
  if (!allowance || !allowance->allows(*url)) return;
  must(prefix->host() == url->host() && prefix->scheme() == url->scheme(), "what is allowed is on that host");
  must(!url->text().empty() && !allowance->allows(*prefix), "an allowance is not below itself");
}

}  // namespace repobridge::fuzz
