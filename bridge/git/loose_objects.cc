#include "bridge/git/loose_objects.h"

#include <git2/sys/odb_backend.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "platform/files.h"

namespace repobridge::git {
namespace {

constexpr std::uint64_t kMaxObjectBytes = 1U << 30U;
constexpr std::size_t kMaxHeaderBytes = 32;  // "commit ", 20 digits and a NUL have room
constexpr int kBeforeLibgit2 = 10;           // its own backends have 1 and 2

Failure damaged() {
  return fail(Error{.kind = Kind::unsupported, .code = "OBJECT_DAMAGED", .message = "an object is damaged"});
}

// One zlib stream, inflated piece by piece into buffers of known size.
class Inflater {
 public:
  explicit Inflater(std::string_view file) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));  // NOLINT: only read
    stream_.avail_in = static_cast<uInt>(file.size());
    valid_ = ::inflateInit(&stream_) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (valid_) ::inflateEnd(&stream_);
  }

  // How many bytes came; fewer than `room` at the end of the stream or of what was given.
  std::size_t fill(char* out, std::size_t room) {
    if (!valid_) return 0;
    stream_.next_out = reinterpret_cast<Bytef*>(out);  // NOLINT: zlib's own type
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out > 0 && !ended_) {
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      ended_ = code == Z_STREAM_END;
      if (code != Z_OK) break;  // nothing more can come of it
    }
    return room - stream_.avail_out;
  }

  // Whether the stream has ended, and nothing is behind it.
  [[nodiscard]] bool at_end() {
    char one = 0;
    return fill(&one, 1) == 0 && ended_ && stream_.avail_in == 0;
  }

 private:
  z_stream stream_{};
  bool valid_ = false;
  bool ended_ = false;
};

std::optional<std::uint64_t> parse_size(std::string_view digits) {
  constexpr std::size_t kMostDigits = 18;  // no overflow
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  std::uint64_t size = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    size = size * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return size;
}

// "TYPE SIZE"
std::optional<LooseObject> parse_header(std::string_view header) {
  const auto blank = header.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string type(header.substr(0, blank));
  const auto size = parse_size(header.substr(blank + 1));
  const git_object_t parsed = git_object_string2type(type.c_str());
  if (!size || git_object_typeisloose(parsed) == 0) return std::nullopt;
  return LooseObject{.type = parsed, .size_bytes = *size, .content = {}};
}

struct Backend {
  git_odb_backend base;  // the first member: libgit2 hands this back
  int objects;
};

int refuse_damaged() {
  git_error_set_str(GIT_ERROR_ODB, kDamagedObject.data());
  return GIT_ERROR;
}

// The whole of the object's file; nullopt when it is not a loose one.
Result<std::optional<std::string>> file_of(const git_odb_backend* backend, const git_oid* oid) {
  const auto* self = reinterpret_cast<const Backend*>(backend);  // NOLINT: see Backend
  std::string path = hex_of(*oid);
  path.insert(2, "/");
  return platform::read_beneath_if_present(self->objects, path, kMaxObjectBytes);
}

int load(LooseObject& object, const git_odb_backend* backend, const git_oid* oid) {
  const auto file = file_of(backend, oid);
  if (!file) return refuse_damaged();
  if (!file->has_value()) return GIT_ENOTFOUND;
  auto parsed = parse_loose_object(**file, kMaxObjectBytes);
  if (!parsed) return refuse_damaged();
  object = *std::move(parsed);
  return GIT_OK;
}

int read(void** data, std::size_t* size, git_object_t* type, git_odb_backend* backend,
         const git_oid* oid) noexcept try {
  LooseObject object;
  if (const int code = load(object, backend, oid); code != GIT_OK) return code;
  // libgit2 reads a NUL behind the content.
  auto* copy = static_cast<char*>(git_odb_backend_data_alloc(backend, object.content.size() + 1));
  if (copy == nullptr) return GIT_ERROR;
  std::memcpy(copy, object.content.c_str(), object.content.size() + 1);
  *data = copy;
  *size = object.content.size();
  *type = object.type;
  return GIT_OK;
} catch (const std::bad_alloc&) {
  return refuse_damaged();
}

int read_header(std::size_t* size, git_object_t* type, git_odb_backend* backend, const git_oid* oid) noexcept
    try {
  LooseObject object;
  if (const int code = load(object, backend, oid); code != GIT_OK) return code;
  *size = object.content.size();
  *type = object.type;
  return GIT_OK;
} catch (const std::bad_alloc&) {
  return refuse_damaged();
}

void destroy(git_odb_backend* backend) noexcept {
  delete reinterpret_cast<Backend*>(backend);  // NOLINT: made by read_loose_objects()
}

}  // namespace

Result<LooseObject> parse_loose_object(std::string_view file, std::uint64_t max_bytes) {
  Inflater inflater(file);
  std::array<char, kMaxHeaderBytes> begin{};
  const std::size_t got = inflater.fill(begin.data(), begin.size());
  const std::string_view first(begin.data(), got);
  const auto nul = first.find('\0');
  if (nul == std::string_view::npos) return damaged();
  auto object = parse_header(first.substr(0, nul));
  if (!object) return damaged();
  const auto rest = first.substr(nul + 1);
  if (rest.size() > object->size_bytes) return damaged();
  if (object->size_bytes > max_bytes) {
    return fail(
        Error{.kind = Kind::too_large, .code = "FILE_TOO_LARGE", .message = "an object is too large"});
  }
  // zlib makes at most about a thousand bytes of one: what says more lies, and gets no memory for it.
  constexpr std::uint64_t kMostGrowth = 1100;
  if (object->size_bytes > (file.size() + 1) * kMostGrowth) return damaged();
  object->content.resize(object->size_bytes);
  std::ranges::copy(rest, object->content.begin());
  const std::size_t missing = object->content.size() - rest.size();
  const bool whole =
      inflater.fill(object->content.data() + rest.size(), missing) == missing && inflater.at_end();
  if (!whole) return damaged();
  return *std::move(object);
}

Result<void> read_loose_objects(git_repository* repository, int objects) {
  Owned<git_odb, git_odb_free> odb;
  RB_CHECK(git_check(git_repository_odb(into(odb), repository), "open the object store"));
  auto backend = std::make_unique<Backend>();
  RB_CHECK(
      git_check(git_odb_init_backend(&backend->base, GIT_ODB_BACKEND_VERSION), "prepare the object store"));
  backend->base.read = &read;
  backend->base.read_header = &read_header;
  backend->base.free = &destroy;
  backend->objects = objects;
  RB_CHECK(
      git_check(git_odb_add_backend(odb.get(), &backend->base, kBeforeLibgit2), "prepare the object store"));
  (void)backend.release();  // the object store's now
  return {};
}

}  // namespace repobridge::git
