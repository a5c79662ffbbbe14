#include "policy/commit_message.h"

#include "policy/codes.h"
#include "policy/text.h"

namespace repobridge::policy {
namespace {

// Whether a CRLF begins there, which becomes LF.
bool is_crlf(std::string_view text, std::size_t at) { return text.substr(at).starts_with("\r\n"); }

std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_crlf(text, i)) out += text[i];
  }
  return out;
}

// Of the message as it was sent, so that the byte named is the sender's.
Result<void> check_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_crlf(text, i)) continue;
    const auto value = static_cast<unsigned char>(text[i]);
    if ((value < 0x20 && value != '\n' && value != '\t') || value == 0x7F) {
      return refuse(codes::kInvalidMessage, "the message holds the control character " +
                                                std::to_string(value) + " at byte " + std::to_string(i) +
                                                "; only newlines and tabs are allowed");
    }
  }
  return {};
}

}  // namespace

Result<std::string> checked_commit_message(std::string_view text) {
  const auto too_long = [] {
    return refuse(codes::kInvalidMessage, "the message has more than 16384 bytes; shorten it");
  };
  if (text.size() > kMaxMessageBytes) return too_long();
  if (!is_utf8(text)) return refuse(codes::kInvalidMessage, "the message is not UTF-8");
  RB_CHECK(check_characters(text));
  std::string message = with_line_feeds(text);
  const auto end = message.find_last_not_of(" \t\n");
  if (end == std::string::npos) {
    return refuse(codes::kInvalidMessage, "the message is blank; say what the commit changes");
  }
  message.resize(end + 1);
  // Blank lines on top go, but not the indentation of the first line that says something.
  const auto first = message.find_first_not_of(" \t\n");
  const auto line = message.rfind('\n', first);
  if (line != std::string::npos && line < first) message.erase(0, line + 1);
  message += '\n';
  if (message.size() > kMaxMessageBytes) return too_long();
  return message;
}

}  // namespace repobridge::policy
