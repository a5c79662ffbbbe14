#include "policy/pins.h"

#include <algorithm>

namespace repobridge::policy {
namespace {

constexpr std::size_t kDigestCharacters = 64;
constexpr std::string_view kAbsent = "absent";

struct Name {
  std::string bytes;
  bool directory = false;
};

// A closing slash is no part of the path; in a C-quoted name it stands inside the quotes.
Result<Name> read_name(const std::string& text) {
  Name name{.bytes = text};
  if (text.starts_with('"')) {
    RB_TRY(name.bytes, c_unquoted(text));
  }
  name.directory = name.bytes.size() > 1 && name.bytes.ends_with('/');
  if (name.directory) name.bytes.pop_back();
  return name;
}

// Reads one entry after the other; what is refused is named by where it stands.
class Reader {
 public:
  Reader(const std::string& variable, std::string where, Digests digests)
      : variable_(&variable), where_(std::move(where)), digests_(digests) {}

  Result<void> read(const std::string& text, const Json& value, Pins& pins) const {
    const auto name = read_name(text);
    auto path = name ? RepoPath::from_bytes(name->bytes) : fail(name.error());
    if (!path) return refuse_path(text, path.error());
    RB_TRY(auto pin, read_pin(text, value, name->directory));
    if (pins.emplace(*std::move(path), std::move(pin)).second) return {};
    return refuse_name(text, "'" + where_ + "' names one file twice");
  }

 private:
  [[nodiscard]] Result<Pin> read_pin(const std::string& text, const Json& value, bool directory) const {
    const std::string said = value.is_string() ? value.get<std::string>() : "";
    if (said == kAbsent && directory) {
      return refuse_name(text, "in '" + where_ + "' \"absent\" belongs to a name without a closing slash");
    }
    if (said == kAbsent) return Pin{.kind = PinKind::absent};
    const bool usable =
        value.is_string() && (digests_ == Digests::placeholders_allowed || is_sha256_hex(said));
    if (!usable) {
      return refuse_name(text, "a digest in '" + where_ +
                                   "' is neither 64 lower-case hex digits nor \"absent\"; `repobridge pin "
                                   "show` prints the digests to paste");
    }
    return Pin{.kind = directory ? PinKind::directory : PinKind::file, .digest = said};
  }

  [[nodiscard]] Failure refuse_path(const std::string& text, const Error& error) const {
    return refuse_name(text, "a path in '" + where_ + "' is refused: " + error.message);
  }

  [[nodiscard]] Failure refuse_name(const std::string& text, const std::string& problem) const {
    return refuse(codes::kConfigInvalidSetting, *variable_ + ": " + problem,
                  Json{{"argument", where_}, {"path", text}});
  }

  const std::string* variable_;
  std::string where_;
  Digests digests_;
};

}  // namespace

Result<Pins> read_pins(Fields& action, const std::string& variable, Digests digests) {
  const Json* value = action.any("integrity");
  if (value == nullptr || !value->is_object() || value->empty()) {
    return action.refuse_field("integrity", "must be an object that pins at least one file");
  }
  if (value->size() > kMaxPins) return action.refuse_field("integrity", "pins more than 4096 files");
  const Reader reader(variable, action.path_of("integrity"), digests);
  Pins pins;
  for (const auto& [name, digest] : value->items()) RB_CHECK(reader.read(name, digest, pins));
  return pins;
}

Json to_json(const Pins& pins) {
  Json json = Json::object();
  for (const auto& [path, pin] : pins) json[pin_name(path, pin.kind)] = pin_value(pin);
  return json;
}

std::string pin_name(const RepoPath& path, PinKind kind) {
  return path_text(path.bytes() + (kind == PinKind::directory ? "/" : ""));
}

std::string pin_value(const Pin& pin) {
  return pin.kind == PinKind::absent ? std::string(kAbsent) : pin.digest;
}

bool covers(const Pins& pins, const RepoPath& path) {
  if (pins.contains(path)) return true;
  for (auto above = RepoPath::from_bytes(path.parent()); above;
       above = RepoPath::from_bytes(above->parent())) {
    const auto found = pins.find(*above);
    if (found != pins.end() && found->second.kind == PinKind::directory) return true;
  }
  return false;
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == kDigestCharacters &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace repobridge::policy
