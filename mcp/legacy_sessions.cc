#include "mcp/legacy_sessions.h"

#include <utility>
#include <vector>

#include "platform/digest.h"
#include "platform/random.h"

namespace repobridge::mcp {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kNonceBytes = 16;

}  // namespace

LegacySessions::LegacySessions()
    : key_(platform::random_bytes(kKeyBytes).value_or("")), table_(std::make_shared<Table>()) {}

std::string LegacySessions::signature(const std::string& login, std::string_view nonce) const {
  return platform::hmac_sha256_hex(key_, std::string(nonce).append(".").append(login));
}

std::optional<std::string> LegacySessions::new_id(const std::string& login) const {
  const auto nonce = platform::random_hex(kNonceBytes);
  if (!nonce || key_.empty()) return std::nullopt;
  return *nonce + "." + signature(login, *nonce);
}

bool LegacySessions::is_ours(const std::string& login, const std::string& session) const {
  const auto dot = session.find('.');
  if (key_.empty() || dot == std::string::npos) return false;
  const std::string_view text = session;
  return platform::same_digest(signature(login, text.substr(0, dot)), text.substr(dot + 1));
}

std::shared_ptr<LegacySessions::Place> LegacySessions::place_for(const std::string& login,
                                                                 const std::optional<std::string>& session,
                                                                 const RpcId& id) {
  if (!session || !is_ours(login, *session)) return nullptr;
  return std::make_shared<Place>(table_, table_->emplace(Key{login, *session, id}, CancelCall()));
}

void LegacySessions::cancel(const std::string& login, const std::optional<std::string>& session,
                            const RpcId& id) const {
  if (!session) return;
  const auto [first, last] = table_->equal_range(Key{login, *session, id});
  std::vector<CancelCall> cancels;
  for (auto one = first; one != last; ++one) cancels.push_back(one->second);
  for (const auto& cancel : cancels) cancel();
}

LegacySessions::Place::~Place() {
  if (const auto table = table_.lock()) table->erase(at_);
}

void LegacySessions::Place::set(CancelCall cancel) { at_->second = std::move(cancel); }

}  // namespace repobridge::mcp
