#include "bridge/actions/pins.h"

#include <cerrno>

#include "platform/files.h"
#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::actions {
namespace {

namespace codes = policy::codes;
using platform::OpenAs;
using platform::UniqueFd;
using policy::Json;
using policy::PinKind;
using policy::RepoPath;

constexpr std::size_t kMostNamed = 100;

Failure refuse_pin(const policy::Code& code, std::string problem, const RepoPath& path) {
  return policy::refuse(code, std::move(problem), Json{{"path", path.text()}});
}

Failure unreachable(const Error& error, const RepoPath& path) {
  if (platform::is_absent(error)) {
    return refuse_pin(codes::kPathNotFound,
                      "a pinned file is missing (\"absent\" in place of a digest pins just that)", path);
  }
  if (error.os_code == ELOOP || error.os_code == EXDEV) {
    return refuse_pin(codes::kPathBeyondLink, "a pinned file is a link or lies behind one", path);
  }
  return refuse_pin(codes::kPathUnsupportedType, "a pinned file cannot be read", path);
}

Traced traced(Trace& trace) { return {.text = trace.text(), .bytes_of_copies = trace.bytes_of_copies()}; }

// The directory that a pinned name stands in, reached one component after the other.
class Way {
 public:
  // An error where a component is missing or is a link.
  static Result<Way> walk(int root, const RepoPath& path, Trace& trace) {
    Way way(root);
    auto components = path.components();
    components.pop_back();
    for (const auto& component : components) RB_CHECK(way.enter(component, trace));
    return way;
  }

  [[nodiscard]] int directory() const { return fd_.valid() ? fd_.get() : root_; }

 private:
  explicit Way(int root) : root_(root) {}

  Result<void> enter(const std::string& component, Trace& trace) {
    RB_TRY(auto next, platform::open_beneath(directory(), component, OpenAs::location));
    RB_TRY(const auto facts, platform::facts_of(next.get()));
    if (facts.is_link()) return os_failure("pass a link", ELOOP);
    trace.add(facts);
    fd_ = std::move(next);
    return {};
  }

  int root_;
  UniqueFd fd_;  // while it is not the root itself
};

Result<std::string> file_digest(const Way& way, const RepoPath& path, Trace& trace) {
  const auto fd = platform::open_beneath(way.directory(), path.name(), OpenAs::readable);
  if (!fd) return unreachable(fd.error(), path);
  RB_TRY(auto hashed, hash_file(fd->get(), path.bytes(), kMaxPinnedBytes));
  trace.add(hashed.facts);
  return std::move(hashed.digest);
}

Result<std::string> directory_digest(const Way& way, const RepoPath& path, Trace& trace) {
  const auto fd = platform::open_beneath(way.directory(), path.name(), OpenAs::directory);
  if (!fd && fd.error().os_code == ENOTDIR) {
    return refuse_pin(codes::kPathUnsupportedType, "what is pinned as a directory is none", path);
  }
  if (!fd) return unreachable(fd.error(), path);
  RB_TRY(const auto facts, platform::facts_of(fd->get()));
  trace.add(facts);
  return manifest_digest(fd->get(), path, trace);
}

Result<void> check_absent(const Way& way, const RepoPath& path) {
  const auto facts = platform::facts_at(way.directory(), path.name());
  if (!facts) return unreachable(facts.error(), path);
  if (!*facts) return {};
  return refuse_pin(codes::kPinMismatch, "something is there that is pinned as absent", path);
}

Result<Look> look_at_absent(int root, const RepoPath& path, AbsentTrace absent) {
  Trace trace;
  const auto way = Way::walk(root, path, trace);
  if (!way && !platform::is_absent(way.error())) return unreachable(way.error(), path);
  if (way) {
    RB_CHECK(check_absent(*way, path));
    if (absent == AbsentTrace::parent_too) {
      RB_TRY(const auto facts, platform::facts_of(way->directory()));
      trace.add(facts);
    }
  }
  return Look{.now = {.kind = PinKind::absent}, .trace = traced(trace)};
}

// The names of what drifted, as many as an answer should hold.
class Drifted {
 public:
  explicit Drifted(const policy::Action& action) : action_(&action) {}

  void add(const RepoPath& path, const Error* why = nullptr) {
    if (++count_ > kMostNamed) return;
    const std::string place = why != nullptr && why->details ? why->details->value("path", "") : "";
    const bool inside = !place.empty() && place != path.text();
    names_.push_back(inside ? place : policy::pin_name(path, action_->integrity.at(path).kind));
  }

  [[nodiscard]] bool none() const { return count_ == 0; }

  [[nodiscard]] Json details() const {
    Json details{{"paths", names_}};
    if (count_ > kMostNamed) details["more"] = count_ - kMostNamed;
    return details;
  }

 private:
  const policy::Action* action_;
  Json names_ = Json::array();
  std::size_t count_ = 0;
};

}  // namespace

Result<Look> look_at(int root, const RepoPath& path, PinKind kind, AbsentTrace absent) {
  if (kind == PinKind::absent) return look_at_absent(root, path, absent);
  Trace trace;
  const auto way = Way::walk(root, path, trace);
  if (!way) return unreachable(way.error(), path);
  auto digest = kind == PinKind::file ? file_digest(*way, path, trace) : directory_digest(*way, path, trace);
  if (!digest) return fail(std::move(digest).error());
  return Look{.now = {.kind = kind, .digest = *std::move(digest)}, .trace = traced(trace)};
}

std::uint64_t bytes_of_copies(const Traces& traces) {
  std::uint64_t sum = 0;
  for (const auto& [path, trace] : traces) sum += trace.bytes_of_copies;
  return sum;
}

Result<Traces> verify_pins(int root, const policy::Action& action) {
  // One that mutates writes where it likes beside its pins, and must not accuse itself.
  const auto absent = action.mutates ? AbsentTrace::way_only : AbsentTrace::parent_too;
  Traces traces;
  Drifted drifted(action);
  for (const auto& [path, pin] : action.integrity) {
    auto look = look_at(root, path, pin.kind, absent);
    if (look && look->now == pin) {
      traces.emplace(path, std::move(look->trace));
    } else {
      drifted.add(path, look ? nullptr : &look.error());
    }
  }
  if (drifted.none()) return traces;
  return policy::refuse(
      codes::kPinMismatch,
      "files that the action reads (details.paths) are not the bytes the administrator reviewed; "
      "nothing was started. The administrator reviews them and updates the pins",
      drifted.details());
}

Result<void> check_unchanged(const policy::Action& action, const Traces& before,
                             const Result<Traces>& after) {
  if (after && *after == before) return {};
  constexpr const char* kMessage =
      "files that the action reads (details.paths), or directories on the way to them, changed while it ran, "
      "so its result means nothing; call again when nobody writes to them";
  if (!after && after.error().details) {
    return policy::refuse(codes::kPinMismatch, kMessage, *after.error().details);
  }
  Drifted drifted(action);
  for (const auto& [path, trace] : before) {
    const bool same = after && after->contains(path) && after->at(path) == trace;
    if (!same) drifted.add(path);
  }
  return policy::refuse(codes::kPinMismatch, kMessage, drifted.details());
}

}  // namespace repobridge::actions
