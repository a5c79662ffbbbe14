// A token, and after a line's end a JSON Web Key: reading either ends in a value or in a fault of fixed text,
// and no input of this kind is ever proven by a key of ours.
#include "mcp/jwt.h"

#include "policy/oauth.h"
#include "tests/fuzz/target.h"

namespace repobridge::fuzz {
namespace {

using mcp::Jwt;
using mcp::VerifyKey;

// The public half of a pair whose private half nobody has any more.
const VerifyKey& our_key() {
  static const VerifyKey kKey =
      *VerifyKey::read(policy::Json{{"kty", "EC"},
                                    {"kid", "ours"},
                                    {"crv", "P-256"},
                                    {"x", "_TVvX-hL8XvQwzVG-mor9hF-r2j3YjI6HGb17KKzJBo"},
                                    {"y", "suecuoKjajiVve-rrPjcHniJqufg14d7H1hHub3Sx6Y"}});
  return kKey;
}

void check_fault(const mcp::JwtFault& fault) {
  must(!fault.what.empty() && fault.what.size() < 100, "a fault says what it is");
  must(fault.what.find('"') == std::string_view::npos, "a fault fits a challenge");
}

// A key that the input brings may prove the input's token: then what was proven is an object.
void check_pair(const Jwt& jwt, std::string_view text) {
  const auto value = policy::parse_json(text);
  if (!value) return;
  const auto key = VerifyKey::read(*value);
  if (!key) return check_fault(key.error());
  for (const char* never : {"none", "HS256", "HS384", "HS512"}) must(!key->fits(never), "no secret is a key");
  const auto claims = jwt.proven_by(*key);
  must(!claims || claims->object().is_object(), "claims are an object");
  must(!claims || key->fits(jwt.algorithm()), "a key proves what it fits");
  if (!claims) check_fault(claims.error());
}

}  // namespace

void one_input(std::string_view bytes) {
  const auto parts = parts_of(bytes, 2, '\n');
  const auto jwt = Jwt::read(parts[0]);
  if (!jwt) return check_fault(jwt.error());
  must(parts[0].size() <= mcp::kMaxTokenBytes, "a token is bounded");
  must(policy::is_signature_algorithm(jwt->algorithm()), "a token names a known algorithm");
  must(!jwt->proven_by(our_key()), "nobody signs with our key");
  check_pair(*jwt, parts[1]);
}

}  // namespace repobridge::fuzz
