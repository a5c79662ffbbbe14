#include "mcp/key_set.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "tests/unit/details.h"
#include "tests/unit/mcp/signed_token.h"
#include "tests/unit/results.h"

namespace repobridge::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::code_of;
using tests::detail_of;
using tests::Json;
using tests::Signer;

constexpr std::size_t kMostKeys = 100;

std::string document(const std::vector<std::string>& kids) {
  static const Signer kSigner("P-256");
  Json keys = Json::array();
  for (const auto& kid : kids) keys.push_back(kSigner.jwk(kid));
  return Json{{"keys", keys}}.dump();
}

// A source that answers when the test says so, and a clock that goes when the test says so.
class Bench {
 public:
  Bench() : keys_(KeySet::make(io_.get_executor(), options())) {}

  void answer(Result<std::string> document) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(document));
    changed_.notify_all();
  }
  void answer_kids(const std::vector<std::string>& kids) { answer(document(kids)); }
  void fail_once() { answer(os_failure("read the keys", 0)); }

  void pass(milliseconds time) { now_ += time; }

  // Asks, and hears the answer later.
  std::shared_ptr<std::optional<std::string>> ask(const std::string& kid) {
    auto heard = std::make_shared<std::optional<std::string>>();
    asio::co_spawn(io_, listen(keys_, kid, heard), asio::detached);
    io_.restart();
    io_.poll();
    return heard;
  }

  // Until everybody has heard and the source is at rest.
  void settle() {
    io_.restart();
    const auto deadline = Deadline::clock::now() + seconds(30);
    while (waiting_ > 0 && Deadline::clock::now() < deadline) io_.run_one_until(deadline);
  }

  std::string find(const std::string& kid) {
    const auto heard = ask(kid);
    settle();
    return heard->value_or("(nothing)");
  }

  int readings() {
    const std::lock_guard lock(mutex_);
    return readings_;
  }
  std::vector<std::string> reported;

 private:
  using Deadline = std::chrono::time_point<std::chrono::steady_clock>;

  KeySet::Options options() {
    return {.read = [this](const std::stop_token& stop) { return read(stop); },
            .report = [this](const Error& error) { reported.push_back(error.code); },
            .refresh = seconds(300),
            .retry = seconds(10),
            .keep = seconds(3600),
            .now = [this] { return now_; }};
  }

  Result<std::string> read(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ++readings_;
    changed_.wait(lock, stop, [this] { return !answers_.empty(); });
    if (answers_.empty()) return os_failure("read the keys", 0);
    auto answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

  asio::awaitable<void> listen(std::shared_ptr<KeySet> keys, std::string kid,
                               std::shared_ptr<std::optional<std::string>> heard) {
    ++waiting_;
    const auto found = co_await KeySet::find(keys, kid, "ES256");
    --waiting_;
    if (found) {
      *heard = (*found)->kid();
    } else {
      *heard = found.error() == KeyMiss::unknown     ? "unknown"
               : found.error() == KeyMiss::ambiguous ? "ambiguous"
                                                     : "unreachable";
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Result<std::string>> answers_;
  int readings_ = 0;
  int waiting_ = 0;
  KeySet::Clock::time_point now_{seconds(1000000)};
  asio::io_context io_{1};
  std::shared_ptr<KeySet> keys_;
};

TEST(KeySet, IsReadWhenItIsNeededAndOnce) {
  Bench bench;
  EXPECT_EQ(bench.readings(), 0);
  bench.answer_kids({"a", "b"});

  EXPECT_EQ(bench.find("a"), "a");
  EXPECT_EQ(bench.find("b"), "b");
  EXPECT_EQ(bench.readings(), 1);
}

TEST(KeySet, IsReadOnceHoweverManyWait) {
  Bench bench;
  const auto first = bench.ask("a");
  const auto second = bench.ask("b");
  const auto third = bench.ask("c");
  EXPECT_FALSE(first->has_value());

  bench.answer_kids({"a", "b"});
  bench.settle();

  EXPECT_EQ(*first, "a");
  EXPECT_EQ(*second, "b");
  EXPECT_EQ(*third, "unknown");
  EXPECT_EQ(bench.readings(), 1);
}

TEST(KeySet, ReadsAgainForAKeyThatIsNotKnownButNotWithinTheInterval) {
  Bench bench;
  bench.answer_kids({"old"});
  EXPECT_EQ(bench.find("old"), "old");
  EXPECT_EQ(bench.find("new"), "unknown");
  EXPECT_EQ(bench.find("newer"), "unknown");
  EXPECT_EQ(bench.readings(), 1);

  bench.pass(seconds(10));
  bench.answer_kids({"new"});

  EXPECT_EQ(bench.find("new"), "new");
  EXPECT_EQ(bench.find("old"), "unknown") << "a key that was withdrawn";
  EXPECT_EQ(bench.readings(), 2);
}

TEST(KeySet, ServesWhatItKnowsWhileASourceIsSlow) {
  Bench bench;
  bench.answer_kids({"known"});
  EXPECT_EQ(bench.find("known"), "known");
  bench.pass(seconds(10));

  const auto waits = bench.ask("new");
  EXPECT_FALSE(waits->has_value());
  const auto served = bench.ask("known");
  EXPECT_EQ(*served, "known");
  EXPECT_FALSE(waits->has_value());

  bench.answer_kids({"known", "new"});
  bench.settle();
  EXPECT_EQ(*waits, "new");
}

TEST(KeySet, ServesWhatItKnowsWhileASourceIsGoneAndNothingElse) {
  Bench bench;
  bench.answer_kids({"known"});
  EXPECT_EQ(bench.find("known"), "known");
  bench.pass(seconds(10));
  bench.fail_once();

  EXPECT_EQ(bench.find("new"), "unreachable");
  EXPECT_EQ(bench.find("known"), "known");
  EXPECT_EQ(bench.find("new"), "unreachable");
  EXPECT_EQ(bench.readings(), 2) << "a source that is gone is not asked within the interval either";
  EXPECT_EQ(bench.reported, std::vector<std::string>{"INTERNAL_ERROR"}) << "each failure is told once";
}

TEST(KeySet, ForgetsWhatItKnowsWhenASourceIsGoneForTooLong) {
  Bench bench;
  bench.answer_kids({"known"});
  EXPECT_EQ(bench.find("known"), "known");
  bench.pass(seconds(3600));
  bench.fail_once();

  EXPECT_EQ(bench.find("known"), "unreachable");
  bench.pass(seconds(10));
  bench.answer_kids({"known"});
  EXPECT_EQ(bench.find("known"), "known");
}

TEST(KeySet, IsRefreshedWithoutAnybodyWaiting) {
  Bench bench;
  bench.answer_kids({"known"});
  EXPECT_EQ(bench.find("known"), "known");
  bench.pass(seconds(300));

  EXPECT_EQ(*bench.ask("known"), "known");
  bench.answer_kids({"other"});

  EXPECT_EQ(bench.find("other"), "other");
  EXPECT_EQ(bench.find("known"), "unknown");
  EXPECT_EQ(bench.readings(), 2);
}

TEST(KeySet, KeepsWhatItKnowsWhenADocumentIsNoKeySet) {
  for (const std::string wrong : {"", "<html>", "[]", "{}", R"({"keys":{}})", R"({"keys":[]})"}) {
    Bench bench;
    bench.answer_kids({"known"});
    EXPECT_EQ(bench.find("known"), "known");
    bench.pass(seconds(10));
    bench.answer(wrong);

    EXPECT_EQ(bench.find("new"), "unreachable") << wrong;
    EXPECT_EQ(bench.find("known"), "known") << wrong;
    EXPECT_EQ(bench.reported, std::vector<std::string>{"OAUTH_KEYS_UNAVAILABLE"}) << wrong;
  }
}

TEST(KeySet, NeedsNoNameWhereThereIsOneKey) {
  Bench one;
  one.answer_kids({"a"});
  EXPECT_EQ(one.find(""), "a");
  Bench two;
  two.answer_kids({"a", "b"});
  EXPECT_EQ(two.find(""), "ambiguous");
  EXPECT_EQ(two.find(""), "ambiguous");
  EXPECT_EQ(two.readings(), 1);
}

TEST(KeySet, EndsAReadingThatIsUnderWayWhenItGoes) {
  // The source never answers: without a stop the destructor would wait for ever.
  Bench bench;
  const auto waits = bench.ask("a");
  EXPECT_FALSE(waits->has_value());
}

TEST(KeySetDocument, IsReadStrictlyAndLeavesOutWhatIsOfNoUse) {
  const Signer pair("P-256");
  const auto kids = [](const Json& keys) {
    const auto parsed = parse_key_set(Json{{"keys", keys}}.dump());
    if (!parsed) return parsed.error().code;
    std::string found;
    for (const auto& key : *parsed) found += key->kid() + " ";
    return found;
  };
  auto for_encryption = pair.jwk("e");
  for_encryption["use"] = "enc";
  auto of_another_curve = pair.jwk("c");
  of_another_curve["crv"] = "secp256k1";
  auto private_part = pair.jwk("p");
  private_part["d"] = "AAAA";

  EXPECT_EQ(kids({pair.jwk("a"), for_encryption, of_another_curve, Json(1), pair.jwk("b")}), "a b ");
  EXPECT_EQ(kids({pair.jwk("a"), private_part}), "OAUTH_KEYS_UNAVAILABLE");
  EXPECT_EQ(kids(Json::array({for_encryption})), "OAUTH_KEYS_UNAVAILABLE");
  EXPECT_EQ(kids(Json::array({Json{{"kty", "oct"}, {"k", "c2VjcmV0"}}})), "OAUTH_KEYS_UNAVAILABLE");
  Json many = Json::array();
  for (std::size_t i = 0; i <= kMostKeys; ++i) many.push_back(pair.jwk("a"));
  EXPECT_EQ(kids(many), "OAUTH_KEYS_UNAVAILABLE");
  many.erase(0);
  EXPECT_NE(kids(many), "OAUTH_KEYS_UNAVAILABLE");
  EXPECT_EQ(detail_of(parse_key_set(R"({"keys":[],"keys":[]})"), "why"), "the answer is no JSON object");
}

}  // namespace
}  // namespace repobridge::mcp
