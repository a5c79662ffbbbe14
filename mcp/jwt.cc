#include "mcp/jwt.h"

#include <cjose/jwk.h>
#include <cjose/jws.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "policy/oauth.h"
#include "policy/text.h"

namespace repobridge::mcp {
namespace {

using policy::Json;

constexpr std::size_t kMaxKidBytes = 256;
constexpr std::size_t kLeastModulusBytes = 256;  // 2048 bits
constexpr std::size_t kMostModulusBytes = 1024;  // more would only cost time
constexpr std::size_t kMostExponentBytes = 4;    // the same

// What cjose does not ask: it verifies ES256 by a key of any curve, and halves a signature of any length.
struct Curve {
  std::string_view name;
  std::string_view algorithm;
  std::size_t coordinate_bytes;
};
constexpr std::array<Curve, 3> kCurves{
    {{"P-256", "ES256", 32}, {"P-384", "ES384", 48}, {"P-521", "ES512", 66}}};

const Curve* curve_named(std::string_view name) {
  const auto* found = std::ranges::find(kCurves, name, &Curve::name);
  return found == kCurves.end() ? nullptr : found;
}

tl::unexpected<JwtFault> fault(std::string_view what) { return tl::unexpected(JwtFault{what}); }

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  return c == '_' ? 63 : -1;
}

// The one encoding of each text: no padding, no blanks, and no bits left over that say something.
std::optional<std::string> decoded(std::string_view text) {
  std::string bytes;
  std::uint32_t held = 0;
  unsigned held_bits = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) return std::nullopt;
    held = ((held << 6U) | static_cast<std::uint32_t>(value)) & 0xFFFU;
    held_bits += 6;
    if (held_bits < 8) continue;
    held_bits -= 8;
    bytes += static_cast<char>((held >> held_bits) & 0xFFU);
  }
  const bool rest_is_zero = held_bits < 6 && (held & ((1U << held_bits) - 1U)) == 0;
  if (!rest_is_zero) return std::nullopt;
  return bytes;
}

// nullptr when it is absent or another kind of value.
const std::string* text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

bool absent_or_text(const Json& object, const char* name) {
  return !object.contains(name) || text_in(object, name) != nullptr;
}

std::optional<std::string> bytes_in(const Json& object, const char* name) {
  const auto* text = text_in(object, name);
  return text != nullptr ? decoded(*text) : std::nullopt;
}

bool may_verify(const Json& jwk) {
  const auto use = jwk.find("use");
  if (use != jwk.end() && *use != "sig") return false;
  const auto operations = jwk.find("key_ops");
  return operations == jwk.end() ||
         (operations->is_array() && std::ranges::find(*operations, Json("verify")) != operations->end());
}

// The size of an RSA key's modulus, when the key is one to rely on.
std::optional<std::size_t> modulus_bytes(const Json& jwk) {
  const auto modulus = bytes_in(jwk, "n");
  const auto exponent = bytes_in(jwk, "e");
  if (!modulus || !exponent || exponent->empty() || exponent->size() > kMostExponentBytes) {
    return std::nullopt;
  }
  const bool odd = (static_cast<unsigned char>(exponent->back()) & 1U) != 0;
  const bool one = exponent->back() == 1 && exponent->find_first_not_of('\0') == exponent->size() - 1;
  if (!odd || one) return std::nullopt;
  const auto first = modulus->find_first_not_of('\0');
  if (first == std::string::npos) return std::nullopt;
  const auto size = modulus->size() - first;
  const bool whole =
      size > kLeastModulusBytes || (static_cast<unsigned char>((*modulus)[first]) & 0x80U) != 0;
  if (size < kLeastModulusBytes || size > kMostModulusBytes || !whole) return std::nullopt;
  return size;
}

bool is_point(const Json& jwk, const Curve& curve) {
  const auto x = bytes_in(jwk, "x");
  const auto y = bytes_in(jwk, "y");
  return x && y && x->size() == curve.coordinate_bytes && y->size() == curve.coordinate_bytes;
}

// The public members alone: cjose takes what else it knows too.
Json public_part(const Json& jwk) {
  Json part = Json::object();
  for (const char* name : {"kty", "n", "e", "crv", "x", "y"}) {
    if (jwk.contains(name)) part[name] = jwk[name];
  }
  return part;
}

// "application/" may be left out; letters of either case are one. RFC 9068 section 4, RFC 7519 section 5.1.
bool is_token_type(const std::string* typ) {
  if (typ == nullptr) return false;
  const auto type = policy::lower_ascii(*typ);
  return type == "at+jwt" || type == "application/at+jwt" || type == "jwt" || type == "application/jwt";
}

struct ReleaseJws {
  void operator()(cjose_jws_t* jws) const { cjose_jws_release(jws); }
};

cjose_jwk_t* as_jwk(void* key) { return static_cast<cjose_jwk_t*>(key); }

}  // namespace

void VerifyKey::Release::operator()(void* key) const { cjose_jwk_release(as_jwk(key)); }

tl::expected<VerifyKey, JwtFault> VerifyKey::read(const Json& jwk) {
  VerifyKey key;
  if (!jwk.is_object()) return fault("a key is no object");
  if (jwk.contains("d") || jwk.contains("k")) return fault("a key holds its private part");
  if (!absent_or_text(jwk, "kid") || !absent_or_text(jwk, "alg")) return fault("a key's name is no text");
  if (!may_verify(jwk)) return fault("a key is not for signatures");
  if (const auto* kid = text_in(jwk, "kid")) key.kid_ = *kid;
  if (const auto* algorithm = text_in(jwk, "alg")) key.only_algorithm_ = *algorithm;
  if (key.kid_.size() > kMaxKidBytes) return fault("a key's name is too long");

  const auto* kind = text_in(jwk, "kty");
  if (kind != nullptr && *kind == "RSA") {
    const auto size = modulus_bytes(jwk);
    if (!size) return fault("an RSA key has not 2048 to 8192 bits and a small odd exponent");
    key.modulus_bytes_ = *size;
  } else if (kind != nullptr && *kind == "EC") {
    const auto* name = text_in(jwk, "crv");
    const auto* curve = name != nullptr ? curve_named(*name) : nullptr;
    if (curve == nullptr || !is_point(jwk, *curve)) return fault("an EC key is no point of a known curve");
    key.curve_ = *name;
  } else {
    return fault("a key is of an unknown kind");
  }
  const auto text = policy::dump_json(public_part(jwk));
  cjose_err error{};
  key.key_.reset(cjose_jwk_import(text.data(), text.size(), &error));
  if (!key.key_) return fault("a key is not valid");
  return key;
}

bool VerifyKey::fits(std::string_view algorithm) const {
  if (!policy::is_signature_algorithm(algorithm)) return false;
  if (!only_algorithm_.empty() && only_algorithm_ != algorithm) return false;
  if (const auto* curve = curve_named(curve_)) return curve->algorithm == algorithm;
  return algorithm.starts_with("RS") || algorithm.starts_with("PS");
}

tl::expected<Jwt, JwtFault> Jwt::read(std::string_view compact) {
  if (compact.size() > kMaxTokenBytes) return fault("the token is too long");
  const auto parts = policy::split(compact, '.');
  if (parts.size() != 3) return fault("the token is no signed JWT");
  const auto header_text = decoded(parts[0]);
  const auto payload = decoded(parts[1]);
  const auto signature = decoded(parts[2]);
  if (!header_text || !payload || !signature) return fault("the token is not base64url");

  const auto header = policy::parse_json(*header_text);
  if (!header || !header->is_object()) return fault("the token's header is no JSON object");
  // An extension that must be understood is one that we do not understand; `b64` changes what is signed.
  if (header->contains("crit") || header->contains("b64")) return fault("the token needs an extension");
  if (!is_token_type(text_in(*header, "typ"))) return fault("the token is not of type at+jwt or JWT");
  const auto* algorithm = text_in(*header, "alg");
  if (algorithm == nullptr || !policy::is_signature_algorithm(*algorithm)) {
    return fault("the token is not signed by a known algorithm");
  }
  if (!absent_or_text(*header, "kid")) return fault("the token's kid is no text");
  Jwt jwt;
  if (const auto* kid = text_in(*header, "kid")) jwt.kid_ = *kid;
  if (jwt.kid_.size() > kMaxKidBytes) return fault("the token's kid is too long");
  jwt.compact_ = compact;
  jwt.algorithm_ = *algorithm;
  jwt.signature_bytes_ = signature->size();
  return jwt;
}

tl::expected<Claims, JwtFault> Jwt::proven_by(const VerifyKey& key) const {
  if (!key.fits(algorithm_)) return fault("the token's key is for another algorithm");
  const auto* curve = curve_named(key.curve_);
  const auto expected = curve != nullptr ? 2 * curve->coordinate_bytes : key.modulus_bytes_;
  if (signature_bytes_ != expected) return fault("the token's signature does not verify");

  cjose_err error{};
  // Imported anew each time: cjose leaks when one import is verified twice.
  const std::unique_ptr<cjose_jws_t, ReleaseJws> jws(
      cjose_jws_import(compact_.data(), compact_.size(), &error));
  if (!jws || !cjose_jws_verify(jws.get(), as_jwk(key.key_.get()), &error)) {
    return fault("the token's signature does not verify");
  }
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  if (!cjose_jws_get_plaintext(jws.get(), &bytes, &size, &error)) return fault("the token is empty");
  const std::string claims(bytes, bytes + size);
  auto object = policy::parse_json(claims);
  if (!object || !object->is_object()) return fault("the token's claims are no JSON object");
  return Claims(*std::move(object));
}

}  // namespace repobridge::mcp
