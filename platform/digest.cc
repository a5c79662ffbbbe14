#include "platform/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "platform/random.h"

namespace repobridge::platform {
namespace {

EVP_MD_CTX* as_context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

// SHA-256 on memory cannot fail but for exhausted memory, and then nothing sensible is left to do.
void must(int ok) {
  if (ok != 1) std::abort();
}

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(as_context(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  must(EVP_DigestInit_ex(as_context(context_.get()), EVP_sha256(), nullptr));
}

void Sha256::update(std::string_view bytes) {
  must(EVP_DigestUpdate(as_context(context_.get()), bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned int length = 0;
  must(EVP_DigestFinal_ex(as_context(context_.get()), raw.data(), &length));
  return hex_of(std::string(raw.begin(), raw.begin() + length));
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.hex();
}

std::string hmac_sha256_hex(std::string_view key, std::string_view message) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned int length = 0;
  const std::vector<unsigned char> bytes(message.begin(), message.end());
  const void* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(),
                          raw.data(), &length);
  must(made == nullptr ? 0 : 1);
  return hex_of(std::string(raw.begin(), raw.begin() + length));
}

bool same_digest(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string sha1_bytes(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned int length = 0;
  must(EVP_Digest(bytes.data(), bytes.size(), raw.data(), &length, EVP_sha1(), nullptr));
  return {raw.begin(), raw.begin() + length};
}

Result<std::string> sha256_of(int fd, std::size_t max_bytes) {
  constexpr std::size_t kChunkBytes = 131072;
  Sha256 digest;
  std::vector<char> chunk(kChunkBytes);
  for (std::size_t total = 0;;) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_failure("read a file for its digest", errno);
    if (got == 0) return digest.hex();
    total += static_cast<std::size_t>(got);
    if (total > max_bytes) {
      return fail(Error{
          .kind = Kind::too_large, .code = "FILE_TOO_LARGE", .message = "a file is larger than its limit"});
    }
    digest.update(std::string_view(chunk.data(), static_cast<std::size_t>(got)));
  }
}

}  // namespace repobridge::platform
