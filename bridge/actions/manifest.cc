#include "bridge/actions/manifest.h"

#include <algorithm>

#include "platform/digest.h"
#include "platform/files.h"
#include "policy/codes.h"
#include "policy/json.h"

namespace repobridge::actions {
namespace {

namespace codes = policy::codes;
using platform::FileFacts;
using platform::OpenAs;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxEntries = 100000;

Failure refuse_at(const policy::Code& code, std::string problem, std::string_view path) {
  return policy::refuse(code, std::move(problem), policy::Json{{"path", policy::path_text(path)}});
}

Failure changed_at(std::string_view path) {
  return refuse_at(codes::kPathChanged, "a pinned file changed while it was read", path);
}

// A directory and where it stands: in the workdir for messages, in the pinned directory for the manifest.
struct Place {
  int fd = -1;
  std::string path;
  std::string below;  // "" for the pinned directory itself, else with a closing slash
  std::size_t depth = 1;
};

class Walk {
 public:
  explicit Walk(Trace& trace) : trace_(&trace) { text_.update("repobridge manifest 1\n"); }

  Result<void> directory(const Place& place) {
    if (place.depth > kMaxDepth) return refuse_at(codes::kPathTooLarge, "deeper than 64 levels", place.path);
    RB_TRY(auto names, platform::list_directory(place.fd));
    std::ranges::sort(names);
    for (const auto& name : names) RB_CHECK(entry(place, name));
    return {};
  }

  std::string digest() { return text_.hex(); }

 private:
  Result<void> entry(const Place& place, const std::string& name) {
    const std::string path = place.path + "/" + name;
    if (policy::is_dot_git(name)) {
      return refuse_at(codes::kDeniedPath, "a pinned directory holds a repository of its own", path);
    }
    if (++entries_ > kMaxEntries) {
      return refuse_at(codes::kPathTooLarge, "a pinned directory has more than 100000 entries", path);
    }
    RB_TRY(const auto facts, platform::facts_at(place.fd, name));
    if (!facts) return changed_at(path);
    if (facts->is_directory()) return subdirectory(place, name, path);
    if (facts->is_regular()) return file(place, name, path);
    if (facts->is_link()) return link(place, name, path, *facts);
    return refuse_at(codes::kPathUnsupportedType,
                     "a pinned directory holds a FIFO, a socket or a device, which no digest can pin", path);
  }

  Result<void> subdirectory(const Place& place, const std::string& name, const std::string& path) {
    const auto fd = platform::open_beneath(place.fd, name, OpenAs::directory);
    if (!fd) return unopened(fd.error(), path);
    RB_TRY(const auto facts, platform::facts_of(fd->get()));
    trace_->add(facts);
    line("dir " + quoted(place, name));
    return directory(
        {.fd = fd->get(), .path = path, .below = place.below + name + "/", .depth = place.depth + 1});
  }

  Result<void> file(const Place& place, const std::string& name, const std::string& path) {
    const auto fd = platform::open_beneath(place.fd, name, OpenAs::readable);
    if (!fd) return unopened(fd.error(), path);
    RB_TRY(const auto hashed, hash_file(fd->get(), path, kMaxPinnedBytes - bytes_));
    bytes_ += hashed.facts.size_bytes;
    trace_->add(hashed.facts);
    line(std::string("file ") + ((hashed.facts.mode & S_IXUSR) != 0 ? "x " : "- ") +
         std::to_string(hashed.facts.size_bytes) + " " + hashed.digest + " " + quoted(place, name));
    return {};
  }

  Result<void> link(const Place& place, const std::string& name, const std::string& path,
                    const FileFacts& facts) {
    const auto target = platform::read_link_beneath(place.fd, name);
    if (!target) return changed_at(path);
    trace_->add(facts);
    line("link " + policy::c_quoted(*target) + " " + quoted(place, name));
    return {};
  }

  // It was there a moment ago.
  static Failure unopened(const Error& error, const std::string& path) {
    if (error.os_code == EACCES) {
      return refuse_at(codes::kPathUnsupportedType, "a pinned file cannot be read", path);
    }
    return changed_at(path);
  }

  static std::string quoted(const Place& place, const std::string& name) {
    return policy::c_quoted(place.below + name);
  }

  void line(const std::string& text) { text_.update(text + "\n"); }

  Trace* trace_;
  platform::Sha256 text_;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<HashedFile> hash_file(int fd, std::string_view path, std::size_t max_bytes) {
  HashedFile file;
  RB_TRY(file.facts, platform::facts_of(fd));
  if (!file.facts.is_regular()) {
    return refuse_at(codes::kPathUnsupportedType, "only a regular file can be pinned", path);
  }
  const auto too_large = [&] {
    return refuse_at(codes::kPathTooLarge, "more than 2 GiB are pinned by one digest", path);
  };
  if (file.facts.size_bytes > max_bytes) return too_large();
  auto digest = platform::sha256_of(fd, max_bytes);
  if (!digest && digest.error().code == "FILE_TOO_LARGE") return too_large();  // it grew meanwhile
  if (!digest) return fail(std::move(digest).error());
  RB_TRY(const auto after, platform::facts_of(fd));
  if (after != file.facts) return changed_at(path);
  file.digest = *std::move(digest);
  return file;
}

Result<std::string> manifest_digest(int directory, const policy::RepoPath& path, Trace& trace) {
  Walk walk(trace);
  RB_CHECK(walk.directory({.fd = directory, .path = path.bytes()}));
  return walk.digest();
}

}  // namespace repobridge::actions
