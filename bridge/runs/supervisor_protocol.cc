#include "bridge/runs/supervisor_protocol.h"

#include <charconv>

#include "platform/digest.h"
#include "platform/random.h"

namespace repobridge::runs {
namespace {

constexpr std::size_t kReceiptBytes = 16;
constexpr std::string_view kNone = "-";

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty() && text != kNone) {
    const auto comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return words;
}

}  // namespace

Result<std::string> make_receipt() {
  RB_TRY(const auto secret, platform::random_hex(kReceiptBytes));
  return std::string(kReceipt) + " " + secret + " " + platform::sha256_hex(secret);
}

SupervisorMessage split_message(std::string_view message) {
  const auto space = message.find(' ');
  if (space == std::string_view::npos) return {.word = message, .rest = {}};
  return {.word = message.substr(0, space), .rest = message.substr(space + 1)};
}

std::size_t number_in(std::string_view text) {
  std::size_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

platform::Containment containment_in(std::string_view numbers) {
  const auto next = [&numbers] {
    const auto [number, rest] = split_message(numbers);
    numbers = rest;
    return number_in(number);
  };
  platform::Containment held;
  held.subreaper = next() == 1;
  held.control_group = next() == 1;
  held.landlock_version = static_cast<int>(next());
  held.signal_scope = next() == 1;
  return held;
}

platform::RoomParts room_in(std::string_view held_and_missing) {
  const auto [held, missing] = split_message(held_and_missing);
  return {.held = words_in(held), .missing = words_in(missing)};
}

}  // namespace repobridge::runs
