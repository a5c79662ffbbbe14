// The keys that an authorization server signs with, as far as they are known at the moment.
//
// Promise: a key that is known is found at once, also while its source is slow or gone; until `keep` has
// passed since the source last answered, for a key that was withdrawn must end some day. One that is not
// known waits for one reading of the source, and there is never more than one, nor a second within `retry`,
// whoever asks for what. A document that is not a set of usable keys changes nothing. Ownership: shared, by
// whoever may still ask; destroying the last one ends a reading that is under way, within a second. Errors:
// KeyMiss; what kept the source from being read goes to `report`. Threads: the event loop's one; reading has
// a thread of its own. Source: RFC 7517; OpenID Connect Core 10.1.1, rotation.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <vector>

#include "bridge/wire/asio_fwd.h"
#include "mcp/jwt.h"
#include "platform/result.h"

namespace repobridge::mcp {

enum class KeyMiss : std::uint8_t {
  unknown,      // the source was read, and has no such key
  ambiguous,    // the token names no key, and there are several
  unreachable,  // nobody can tell: the source could not be read
};

using Keys = std::vector<std::shared_ptr<const VerifyKey>>;

// Keys of other kinds or for other ends are left out; OAUTH_KEYS_UNAVAILABLE when none is left, when there
// are more than a hundred, or when one of them holds a private part.
Result<Keys> parse_key_set(std::string_view text);

class KeySet : public std::enable_shared_from_this<KeySet> {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::function<Result<std::string>(const std::stop_token&)> read;  // on the other thread
    std::function<void(const Error&)> report;
    std::chrono::milliseconds refresh = std::chrono::minutes(5);  // how old keys may be before they are read
    std::chrono::milliseconds retry = std::chrono::seconds(10);
    std::chrono::milliseconds keep = std::chrono::hours(24);
    std::function<Clock::time_point()> now = Clock::now;
  };

  static std::shared_ptr<KeySet> make(asio::any_io_executor executor, Options options);

  using Found = tl::expected<std::shared_ptr<const VerifyKey>, KeyMiss>;
  static asio::awaitable<Found> find(std::shared_ptr<KeySet> keys, std::string kid, std::string algorithm);

 private:
  KeySet(asio::any_io_executor executor, Options options);
  [[nodiscard]] Found look(const std::string& kid, const std::string& algorithm) const;
  [[nodiscard]] bool usable() const;
  void read_if_due(std::chrono::milliseconds age);
  void start_reading();
  void arrived(Result<std::string> document);

  asio::any_io_executor executor_;
  Options options_;
  Keys keys_;
  Clock::time_point answered_;  // of keys_
  Clock::time_point started_;
  bool asked_ = false;  // whether started_ means anything
  bool failed_ = false;
  bool reading_ = false;
  asio::steady_timer read_;  // cancelled when a reading has ended
  std::jthread reader_;      // the last, so that it has ended before the rest is gone
};

}  // namespace repobridge::mcp
