#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "platform/files.h"
#include "platform/random.h"

namespace repobridge::platform {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kOthersMayAnything = S_IRWXG | S_IRWXO;

std::int64_t nanoseconds(const timespec& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

FileFacts facts_from(const struct stat& s) {
  return FileFacts{.identity = {.device = s.st_dev, .inode = s.st_ino},
                   .mode = s.st_mode,
                   .owner = s.st_uid,
                   .group = s.st_gid,
                   .links = s.st_nlink,
                   .size_bytes = static_cast<std::uint64_t>(s.st_size),
                   .modified_ns = nanoseconds(s.st_mtim),
                   .changed_ns = nanoseconds(s.st_ctim)};
}

Failure refusal(Kind kind, std::string code, std::string message) {
  return fail(Error{.kind = kind, .code = std::move(code), .message = std::move(message)});
}

std::string directory_part(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> sync_directory_of(const std::string& path) {
  UniqueFd directory(::open(directory_part(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return os_failure("open the directory of a new file", errno);
  return sync_file(directory.get());
}

// A sticky directory of root (/tmp) lets others add names but not replace ours.
bool others_can_replace_entries(const struct stat& s) {
  if (s.st_uid != 0 && s.st_uid != ::geteuid()) return true;
  return (s.st_mode & kOthersMayWrite) != 0 && (s.st_mode & S_ISVTX) == 0;
}

// Not there afterwards when it could not be written whole.
Result<UniqueFd> write_new_file(const std::string& path, std::string_view bytes, mode_t mode) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd.valid()) return os_failure("create a file", errno);
  // The umask may have taken bits away; it must not decide about ours.
  const auto written = ::fchmod(fd.get(), mode) == 0
                           ? write_all(fd.get(), bytes)
                           : Result<void>(os_failure("set the mode of a file", errno));
  if (written) return fd;
  (void)::unlink(path.c_str());
  return fail(written.error());
}

}  // namespace

Result<UniqueFd> open_directory(const std::string& absolute_path) {
  UniqueFd fd(::open(absolute_path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return os_failure("open a directory", errno);
  return fd;
}

Result<FileFacts> facts_of(int fd) {
  struct stat s {};
  if (::fstat(fd, &s) != 0) return os_failure("read the facts of a file", errno);
  return facts_from(s);
}

Result<std::optional<FileFacts>> facts_at(int directory, const std::string& name) {
  struct stat s {};
  if (::fstatat(directory, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0) return facts_from(s);
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  return os_failure("read the facts of a file", errno);
}

Result<std::optional<FileFacts>> facts_of_path(const std::string& path) { return facts_at(AT_FDCWD, path); }

bool is_absent(const Error& error) { return error.os_code == ENOENT || error.os_code == ENOTDIR; }

Result<std::string> read_regular(int fd, std::size_t max_bytes) {
  RB_TRY(const auto facts, facts_of(fd));
  if (!facts.is_regular()) {
    return refusal(Kind::unsupported, "NOT_A_REGULAR_FILE", "what was to be read is not a regular file");
  }
  std::string bytes;
  bytes.reserve(std::min<std::size_t>(facts.size_bytes + 1, max_bytes + 1));
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t got = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_failure("read a file", errno);
    if (got == 0) return bytes;
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
    if (bytes.size() > max_bytes) {
      return refusal(Kind::too_large, "FILE_TOO_LARGE", "a file is larger than its limit");
    }
  }
}

Result<std::optional<std::string>> read_beneath_if_present(int root, const std::string& relative,
                                                           std::size_t max_bytes) {
  auto fd = open_beneath(root, relative, OpenAs::readable);
  if (!fd) {
    if (is_absent(fd.error())) return std::nullopt;
    return fail(std::move(fd).error());
  }
  RB_TRY(auto bytes, read_regular(fd->get(), max_bytes));
  return std::optional<std::string>(std::move(bytes));
}

Result<std::optional<std::string>> read_if_present(const std::string& path, std::size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    const int os_code = errno;
    if (os_code == ENOENT || os_code == ENOTDIR) return std::nullopt;
    return os_failure("open a file", os_code);
  }
  RB_TRY(auto bytes, read_regular(fd.get(), max_bytes));
  return std::optional<std::string>(std::move(bytes));
}

Result<std::string> read_link_beneath(int directory, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (length < 0) return os_failure("read a symbolic link", errno);
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<std::string> read_trusted_file(const std::string& path, std::size_t max_bytes) {
  RB_TRY(const auto directory, canonical_path(directory_part(path)));
  const std::string real = (directory == "/" ? "" : directory) + "/" + path.substr(path.rfind('/') + 1);
  RB_CHECK(check_ancestors(real));
  UniqueFd fd(::open(real.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const int os_code = errno;
  if (!fd.valid() && os_code != ELOOP) return os_failure("open a file", os_code);
  const auto untrusted = [] {
    return refusal(Kind::forbidden, "FILE_UNTRUSTED",
                   "it is not a regular file of this user or root that nobody else may write");
  };
  if (!fd.valid()) return untrusted();
  RB_TRY(const auto facts, facts_of(fd.get()));
  const bool owner = facts.owner == ::geteuid() || facts.owner == 0;
  if (!facts.is_regular() || !owner || (facts.mode & kOthersMayWrite) != 0) return untrusted();
  return read_regular(fd.get(), max_bytes);
}

Result<std::vector<std::string>> list_directory(int directory) {
  // A fresh open file description, since reading entries moves a position that copies of `directory` share.
  UniqueFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return os_failure("open a directory", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return os_failure("list a directory", errno);
  (void)own.release();  // closedir() closes it
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return os_failure("list a directory", errno);
    if (entry == nullptr) return names;
    const std::string_view name(static_cast<const char*>(entry->d_name));
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return os_failure("write a file", errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<void> sync_file(int fd) {
  if (::fsync(fd) != 0) return os_failure("make a file durable", errno);
  return {};
}

Result<void> create_file(const std::string& path, std::string_view bytes, mode_t mode) {
  RB_TRY(const auto fd, write_new_file(path, bytes, mode));
  auto synced = sync_file(fd.get());
  if (synced) synced = sync_directory_of(path);
  if (!synced) (void)::unlink(path.c_str());
  return synced;
}

Result<UniqueFd> open_to_append(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return os_failure("open a file to append to", errno);
  return fd;
}

Result<void> check_publishable(const std::string& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) {
    return errno == ENOENT ? Result<void>() : os_failure("look at the file to be replaced", errno);
  }
  if (!S_ISREG(s.st_mode) || s.st_uid != ::geteuid() || (s.st_mode & kOthersMayWrite) != 0) {
    return refusal(
        Kind::forbidden, "TARGET_UNSAFE",
        "the file to be replaced is not a regular file of this user that only this user may write");
  }
  return {};
}

Result<void> publish_file(const std::string& path, std::string_view bytes, mode_t mode) {
  RB_TRY(auto staged, StagedFile::stage(path, bytes, mode));
  return staged.replace();
}

Result<void> replace_file(const std::string& path, std::string_view bytes, mode_t mode) {
  RB_CHECK(check_publishable(path));
  RB_TRY(const auto token, random_hex(8));
  const std::string temporary = path + ".new-" + token;
  RB_CHECK(write_new_file(temporary, bytes, mode).map([](const auto&) {}));
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int os_code = errno;
  (void)::unlink(temporary.c_str());
  return os_failure("replace a file", os_code);
}

Result<StagedFile> StagedFile::stage(const std::string& path, std::string_view bytes, mode_t mode) {
  RB_CHECK(check_publishable(path));
  RB_TRY(const auto token, random_hex(8));
  std::string temporary = path + ".new-" + token;
  RB_CHECK(create_file(temporary, bytes, mode));
  return StagedFile(path, std::move(temporary));
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
}

Result<void> StagedFile::replace() {
  // Looked at again: a rename would replace even what became another user's since.
  RB_CHECK(check_publishable(path_));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return os_failure("replace a file", errno);
  temporary_.clear();
  return sync_directory_of(path_);
}

Result<void> check_ancestors(const std::string& path) {
  std::error_code ec;
  const auto absolute = std::filesystem::absolute(path, ec).string();
  if (ec) return os_failure("look at a directory above", ec.value());
  for (std::string above = directory_part(absolute);; above = directory_part(above)) {
    struct stat s {};
    if (::lstat(above.c_str(), &s) != 0) return os_failure("look at a directory above", errno);
    if (!S_ISDIR(s.st_mode) || others_can_replace_entries(s)) {
      return refusal(Kind::forbidden, "DIRECTORY_UNSAFE",
                     "a directory above is not a real directory that only this user or root may write");
    }
    if (above == "/") return {};
  }
}

Result<void> check_private_directory(const std::string& path) {
  RB_TRY(const auto facts, facts_of_path(path));
  if (!facts || !facts->is_directory() || facts->owner != ::geteuid() ||
      (facts->mode & kOthersMayAnything) != 0) {
    return refusal(Kind::forbidden, "DIRECTORY_UNSAFE",
                   "a private directory is not a real directory of this user with mode 0700");
  }
  return check_ancestors(path);
}

Result<void> make_private_directory(const std::string& path) {
  RB_TRY(const auto facts, facts_of_path(path));
  if (!facts) {
    const std::string above = directory_part(path);
    if (::access(above.c_str(), F_OK) != 0 && above != path) RB_CHECK(make_private_directory(above));
    RB_CHECK(check_ancestors(path));  // first, so that a refusal leaves nothing behind
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return os_failure("make a private directory", errno);
    }
  }
  return check_private_directory(path);
}

Result<std::string> canonical_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  if (!resolved) return os_failure("resolve a path", errno);
  return std::string(resolved.get());
}

Result<std::string> planned_path(const std::string& path) {
  std::string above = path;
  std::string missing;  // "/last/parts"
  for (;;) {
    auto resolved = canonical_path(above);
    if (resolved) return (*resolved == "/" && !missing.empty() ? "" : *resolved) + missing;
    if (!is_absent(resolved.error())) return fail(std::move(resolved).error());
    while (above.size() > 1 && above.ends_with('/')) above.pop_back();
    RB_TRY(const auto facts, facts_of_path(above));
    const std::string name = above.substr(above.rfind('/') + 1);
    if (facts || name.empty() || name == "." || name == "..") {
      return refusal(Kind::invalid, "PATH_UNPLANNABLE",
                     "a missing part of the path is a dot name or a link that leads nowhere");
    }
    missing.insert(0, "/" + name);
    above = directory_part(above);
  }
}

void remove_tree(const std::string& path) {
  std::error_code ignored;  // what cannot be removed now is found and removed by the next start
  std::filesystem::remove_all(path, ignored);
}

}  // namespace repobridge::platform
