#include "bridge/wire/token.h"

#include <algorithm>
#include <cctype>

#include "platform/files.h"
#include "platform/random.h"
#include "policy/codes.h"

namespace repobridge::wire {
namespace {

constexpr std::size_t kLeastChars = 32;
constexpr std::size_t kMostChars = 512;
constexpr std::size_t kRandomBytes = 32;

Failure unusable(std::string message, int os_code = 0) {
  Failure failure = policy::refuse(policy::codes::kTokenFileUnusable, std::move(message));
  failure.value().os_code = os_code;
  return failure;
}

// The characters that an Authorization header may carry after "Bearer".
bool is_token(std::string_view text) {
  const auto last = text.find_last_not_of('=');
  const auto body = last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
  return text.size() >= kLeastChars && text.size() <= kMostChars && !body.empty() &&
         std::ranges::all_of(body, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view("-._~+/").find(c) != std::string_view::npos;
         });
}

}  // namespace

Result<std::string> read_token(const std::string& path) {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  const auto facts = platform::facts_of_path(path);
  if (!facts || !*facts) return unusable("the token file cannot be read; `repobridge init` makes one");
  if (((*facts)->mode & kOthers) != 0) return unusable("the token file must have mode 0600");
  auto text = platform::read_trusted_file(path, kMostChars + 1);
  if (!text) {
    return unusable("the token file must be a regular file of this user that nobody else could replace",
                    text.error().os_code);
  }
  if (text->ends_with('\n')) text->pop_back();
  if (!is_token(*text)) {
    return unusable("the token file must hold one line of 32 to 512 letters, digits and -._~+/");
  }
  return *std::move(text);
}

Result<void> create_token(const std::string& path) {
  RB_TRY(const auto random, platform::random_hex(kRandomBytes));
  return platform::create_file(path, "rbt_" + random + "\n", S_IRUSR | S_IWUSR);
}

}  // namespace repobridge::wire
