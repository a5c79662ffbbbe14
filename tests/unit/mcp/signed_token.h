// Keys and tokens made for a test, as an authorization server makes them.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "policy/json.h"

namespace repobridge::tests {

using policy::Json;

inline void must_work(bool ok) {
  if (!ok) throw std::runtime_error("OpenSSL does not do what a test asks of it");
}

inline std::string base64url(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = (held << 8U) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += kDigits[(held >> (bits - 6)) & 63U];
  }
  if (bits > 0) text += kDigits[(held << (6 - bits)) & 63U];
  return text;
}

// A key pair; `kind` is RSA, or the name of a curve.
class Signer {
 public:
  explicit Signer(const std::string& kind, unsigned bits = 2048)
      : kind_(kind),
        key_(kind == "RSA" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{bits})
                           : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", kind.c_str()),
             EVP_PKEY_free) {
    must_work(key_ != nullptr);
  }

  [[nodiscard]] Json jwk(const std::string& kid) const {
    if (kind_ == "RSA") {
      return Json{{"kty", "RSA"},
                  {"kid", kid},
                  {"n", base64url(number(OSSL_PKEY_PARAM_RSA_N, 0))},
                  {"e", base64url(number(OSSL_PKEY_PARAM_RSA_E, 0))}};
    }
    const auto size = (static_cast<std::size_t>(EVP_PKEY_get_bits(key_.get())) + 7) / 8;
    return Json{{"kty", "EC"},
                {"kid", kid},
                {"crv", kind_},
                {"x", base64url(number(OSSL_PKEY_PARAM_EC_PUB_X, size))},
                {"y", base64url(number(OSSL_PKEY_PARAM_EC_PUB_Y, size))}};
  }

  [[nodiscard]] std::string private_exponent() const { return base64url(number(OSSL_PKEY_PARAM_RSA_D, 0)); }

  // `algorithm` decides the digest and the padding, whatever the key is; the signature is JOSE's.
  [[nodiscard]] std::string sign(const std::string& algorithm, const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    const std::string digest = "SHA" + algorithm.substr(2);
    EVP_PKEY_CTX* options = nullptr;
    must_work(EVP_DigestSignInit_ex(context.get(), &options, digest.c_str(), nullptr, nullptr, key_.get(),
                                    nullptr) == 1);
    if (algorithm.starts_with("PS")) {
      must_work(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1);
      must_work(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1);
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    must_work(EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1);
    std::string signature(size, '\0');
    must_work(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                             text.size()) == 1);
    signature.resize(size);
    return kind_ == "RSA" ? signature : halves(signature);
  }

 private:
  [[nodiscard]] std::string number(const char* name, std::size_t size) const {
    BIGNUM* value = nullptr;
    must_work(EVP_PKEY_get_bn_param(key_.get(), name, &value) == 1);
    const std::string bytes = padded(value, size);
    BN_free(value);
    return bytes;
  }

  static std::string padded(const BIGNUM* value, std::size_t size) {
    std::string bytes(size != 0 ? size : static_cast<std::size_t>(BN_num_bytes(value)), '\0');
    must_work(BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()),
                           static_cast<int>(bytes.size())) >= 0);
    return bytes;
  }

  // OpenSSL writes a DER sequence of two numbers, JOSE the two beside each other.
  [[nodiscard]] std::string halves(const std::string& der) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> signature(
        d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())), ECDSA_SIG_free);
    must_work(signature != nullptr);
    const auto size = (static_cast<std::size_t>(EVP_PKEY_get_bits(key_.get())) + 7) / 8;
    return padded(ECDSA_SIG_get0_r(signature.get()), size) + padded(ECDSA_SIG_get0_s(signature.get()), size);
  }

  std::string kind_;
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

// From texts, so that a test may write what no JSON library would.
inline std::string token_of(const Signer& signer, const std::string& algorithm, const std::string& header,
                            const std::string& claims) {
  const auto signed_part = base64url(header) + "." + base64url(claims);
  return signed_part + "." + base64url(signer.sign(algorithm, signed_part));
}

inline Json header_of(const std::string& algorithm, const std::string& kid) {
  return Json{{"alg", algorithm}, {"typ", "at+jwt"}, {"kid", kid}};
}

}  // namespace repobridge::tests
