#include "mcp/key_source.h"

#include <curl/curl.h>

#include <memory>
#include <string_view>

#include "platform/files.h"
#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

constexpr long kHttpOk = 200;

struct FreeCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};

Failure unavailable(std::string_view why) {
  return policy::refuse(policy::codes::kOauthKeysUnavailable,
                        "the keys of the authorization server cannot be had", policy::Json{{"why", why}});
}

// Less than what came ends the transfer.
std::size_t take(const char* bytes, std::size_t size, std::size_t count, void* into) {
  auto& document = *static_cast<std::string*>(into);
  const std::size_t came = size * count;
  if (came > kMaxKeysBytes - document.size()) return 0;
  document.append(bytes, came);
  return came;
}

// Asked at least once a second, also while nothing comes.
int stop_when_asked(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

template <class Value>
bool set(CURL* curl, CURLoption option, Value value) {
  return curl_easy_setopt(curl, option, value) == CURLE_OK;
}

bool set_limits(CURL* curl, const KeySource& source) {
  return set(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(source.limit.count())) &&
         set(curl, CURLOPT_MAXFILESIZE, static_cast<long>(kMaxKeysBytes)) &&
         set(curl, CURLOPT_FOLLOWLOCATION, 0L) && set(curl, CURLOPT_NOSIGNAL, 1L) &&
         // A resolver that hangs is left behind when the transfer has ended.
         set(curl, CURLOPT_QUICK_EXIT, 1L);
}

bool set_security(CURL* curl, const KeySource& source, bool secure) {
  // To this machine no proxy stands between, whatever the environment names.
  if (!secure && !set(curl, CURLOPT_NOPROXY, "*")) return false;
  if (!source.ca_file.empty()) {
    // Without the path too, the system's certificates would still do.
    if (!set(curl, CURLOPT_CAINFO, source.ca_file.c_str())) return false;
    if (!set(curl, CURLOPT_CAPATH, static_cast<const char*>(nullptr))) return false;
  }
  return set(curl, CURLOPT_PROTOCOLS_STR, secure ? "https" : "http") &&
         set(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         set(curl, CURLOPT_SSL_VERIFYPEER, 1L) && set(curl, CURLOPT_SSL_VERIFYHOST, 2L) &&
         set(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
}

bool set_callbacks(CURL* curl, std::string& document, const std::stop_token& stop) {
  return set(curl, CURLOPT_WRITEFUNCTION, &take) && set(curl, CURLOPT_WRITEDATA, &document) &&
         set(curl, CURLOPT_XFERINFOFUNCTION, &stop_when_asked) && set(curl, CURLOPT_XFERINFODATA, &stop) &&
         set(curl, CURLOPT_NOPROGRESS, 0L);
}

std::string_view name_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return "its name is not known";
    case CURLE_COULDNT_CONNECT:
      return "no connection";
    case CURLE_OPERATION_TIMEDOUT:
      return "no answer in time";
    case CURLE_FILESIZE_EXCEEDED:
    case CURLE_WRITE_ERROR:
      return "the answer is too long";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "its certificate is not proven";
    default:
      return "the transfer failed";
  }
}

Result<std::string> read_url(const KeySource& source, const std::stop_token& stop) {
  const auto url = policy::parse_web_url(source.url);
  const std::unique_ptr<CURL, FreeCurl> curl(curl_easy_init());
  if (!url || !curl) return unavailable("the transfer failed");
  std::string document;
  const bool ready = set(curl.get(), CURLOPT_URL, source.url.c_str()) && set_limits(curl.get(), source) &&
                     set_security(curl.get(), source, url->secure) &&
                     set_callbacks(curl.get(), document, stop);
  if (!ready) return unavailable("libcurl lacks what is needed");
  const auto ended = curl_easy_perform(curl.get());
  if (ended != CURLE_OK) return unavailable(name_of(ended));
  long status = 0;
  if (curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status) != CURLE_OK || status != kHttpOk) {
    return unavailable("the answer is not 200");
  }
  return document;
}

}  // namespace

KeySource key_source_of(const policy::OauthPolicy& policy) {
  return {.url = policy.jwks_url, .file = policy.jwks_file, .ca_file = policy.jwks_ca_file};
}

Result<std::string> read_keys(const KeySource& source, const std::stop_token& stop) {
  if (!source.url.empty()) return read_url(source, stop);
  auto text = platform::read_trusted_file(source.file, kMaxKeysBytes);
  if (!text) return unavailable(text.error().message);
  return text;
}

}  // namespace repobridge::mcp
