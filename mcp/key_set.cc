#include "mcp/key_set.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

constexpr std::size_t kMostKeys = 100;

Failure unusable(std::string_view why) {
  return policy::refuse(policy::codes::kOauthKeysUnavailable,
                        "the keys of the authorization server are not usable", policy::Json{{"why", why}});
}

}  // namespace

Result<Keys> parse_key_set(std::string_view text) {
  const auto document = policy::parse_json(text);
  if (!document || !document->is_object()) return unusable("the answer is no JSON object");
  const auto listed = document->find("keys");
  if (listed == document->end() || !listed->is_array()) return unusable("the answer has no list of keys");
  if (listed->size() > kMostKeys) return unusable("there are more than a hundred keys");
  Keys keys;
  for (const auto& jwk : *listed) {
    // Whoever publishes those has lost the key to everybody.
    if (jwk.is_object() && jwk.contains("d")) return unusable("a private key is among them");
    auto key = VerifyKey::read(jwk);
    if (key) keys.push_back(std::make_shared<const VerifyKey>(*std::move(key)));
  }
  if (keys.empty()) return unusable("no key is for signatures of a known kind");
  return keys;
}

KeySet::KeySet(asio::any_io_executor executor, Options options)
    : executor_(std::move(executor)), options_(std::move(options)), read_(executor_) {
  read_.expires_at(asio::steady_timer::time_point::max());
}

std::shared_ptr<KeySet> KeySet::make(asio::any_io_executor executor, Options options) {
  return std::shared_ptr<KeySet>(new KeySet(std::move(executor), std::move(options)));
}

asio::awaitable<KeySet::Found> KeySet::find(std::shared_ptr<KeySet> keys, std::string kid,
                                            std::string algorithm) {
  auto found = keys->look(kid, algorithm);
  if (found || (found.error() == KeyMiss::ambiguous)) {
    keys->read_if_due(keys->options_.refresh);
    co_return found;
  }
  keys->read_if_due(keys->options_.retry);
  if (!keys->reading_) co_return found;
  co_await keys->read_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return keys->look(kid, algorithm);
}

bool KeySet::usable() const { return !keys_.empty() && options_.now() - answered_ < options_.keep; }

KeySet::Found KeySet::look(const std::string& kid, const std::string& algorithm) const {
  if (!usable()) return tl::unexpected(KeyMiss::unreachable);
  if (kid.empty()) {
    if (keys_.size() == 1) return keys_.front();
    return tl::unexpected(KeyMiss::ambiguous);
  }
  const auto found =
      std::ranges::find_if(keys_, [&](const auto& key) { return key->kid() == kid && key->fits(algorithm); });
  if (found != keys_.end()) return *found;
  return tl::unexpected(failed_ ? KeyMiss::unreachable : KeyMiss::unknown);
}

// Unless one is under way, or the last began less than that ago.
void KeySet::read_if_due(std::chrono::milliseconds age) {
  const bool recent = asked_ && options_.now() - started_ < (failed_ ? options_.retry : age);
  if (!reading_ && !recent) start_reading();
}

void KeySet::start_reading() {
  asked_ = true;
  reading_ = true;
  started_ = options_.now();
  // The one before has ended, or is about to: its last step was to post what it read.
  reader_ = std::jthread([read = options_.read, executor = executor_,
                          keys = weak_from_this()](const std::stop_token& stop) mutable {
    auto document = read(stop);
    asio::post(executor, [keys = std::move(keys), document = std::move(document)]() mutable {
      if (const auto self = keys.lock()) self->arrived(std::move(document));
    });
  });
}

void KeySet::arrived(Result<std::string> document) {
  reading_ = false;
  auto keys = document ? parse_key_set(*document) : Result<Keys>(fail(std::move(document).error()));
  failed_ = !keys;
  if (keys) {
    keys_ = *std::move(keys);
    answered_ = options_.now();
  } else {
    options_.report(keys.error());
  }
  read_.cancel();
}

}  // namespace repobridge::mcp
