// Pins: what an approved action reads of its workdir, as the administrator reviewed it.
//
// Promise: a pin is of one of three kinds, told by how it is written in `integrity`: "name" and the digest of
// a file's bytes, "name/" and the digest of a directory's manifest, "name" and "absent". A name is pinned
// once. Nothing here touches a file: comparing is for bridge/actions/pins.h. Errors: CONFIG_INVALID with the
// variable, the JSON path and the name. Units: digests are SHA-256 in 64 lower-case hex digits. Source:
// docs/POLICY.md, "Pins".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "platform/result.h"
#include "policy/json.h"
#include "policy/repo_path.h"

namespace repobridge::policy {

inline constexpr std::size_t kMaxPins = 4096;

enum class PinKind : std::uint8_t {
  file,       // a regular file of exactly these bytes
  directory,  // a directory of exactly these entries, however deep
  absent,     // nothing of that name, not even a link that leads nowhere
};

struct Pin {
  PinKind kind = PinKind::file;
  std::string digest;  // of the bytes or the manifest; "" for absent
  friend bool operator==(const Pin&, const Pin&) = default;
};

using Pins = std::map<RepoPath, Pin>;

// Placeholders stand where a digest is still to be pasted: only `pin show` reads a file that has them.
enum class Digests : std::uint8_t { required, placeholders_allowed };

// The field "integrity" of an action. `variable` is what errors name.
Result<Pins> read_pins(Fields& action, const std::string& variable, Digests digests);
Json to_json(const Pins& pins);

// The two halves of a pin as they stand in `integrity`.
std::string pin_name(const RepoPath& path, PinKind kind);
std::string pin_value(const Pin& pin);

// Whether a change of `path` is drift: it is pinned itself, or lies in a pinned directory.
bool covers(const Pins& pins, const RepoPath& path);

bool is_sha256_hex(std::string_view text);

}  // namespace repobridge::policy
