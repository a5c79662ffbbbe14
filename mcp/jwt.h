// A token, a key, and the proof that the key's owner signed the token. The one room of cjose.
//
// Promise: Claims can be had only from a signature that was verified, with a key that is of the kind, curve
// and size its algorithm asks for. What reaches cjose was read by us before: three parts of strict base64url,
// a header without duplicate keys that names a signature algorithm, a signature of the algorithm's one
// length. No key is taken from a token, whatever its header offers. Errors: a JwtFault has fixed text and
// repeats nothing of the input. Threads: one at a time; a VerifyKey's count of owners is cjose's and not
// atomic. Source: RFC 7515, 7517, 7518, 7519, 8725, 9068.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "policy/json.h"

namespace repobridge::mcp {

inline constexpr std::size_t kMaxTokenBytes = 16384;

struct JwtFault {
  std::string_view what;
};

// A public key of a JSON Web Key Set.
class VerifyKey {
 public:
  // Refused: what is no key to verify signatures with, is too small, or holds a private part.
  static tl::expected<VerifyKey, JwtFault> read(const policy::Json& jwk);

  [[nodiscard]] const std::string& kid() const { return kid_; }  // "" when it has none
  // Whether a signature by this algorithm can be this key's.
  [[nodiscard]] bool fits(std::string_view algorithm) const;

 private:
  friend class Jwt;
  struct Release {
    void operator()(void* key) const;
  };
  std::unique_ptr<void, Release> key_;
  std::string kid_;
  std::string only_algorithm_;  // "" when the key may serve every one of its kind
  std::string curve_;           // "" for RSA
  std::size_t modulus_bytes_ = 0;
};

// What a token says, proven.
class Claims {
 public:
  [[nodiscard]] const policy::Json& object() const { return object_; }

 private:
  friend class Jwt;
  explicit Claims(policy::Json object) : object_(std::move(object)) {}
  policy::Json object_;
};

// A token whose form is right, and nothing else known of it.
class Jwt {
 public:
  static tl::expected<Jwt, JwtFault> read(std::string_view compact);

  [[nodiscard]] const std::string& algorithm() const { return algorithm_; }
  [[nodiscard]] const std::string& kid() const { return kid_; }  // "" when it names none

  [[nodiscard]] tl::expected<Claims, JwtFault> proven_by(const VerifyKey& key) const;

 private:
  std::string compact_;
  std::string algorithm_;
  std::string kid_;
  std::size_t signature_bytes_ = 0;
};

}  // namespace repobridge::mcp
