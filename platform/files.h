// Files whose names or contents someone else may control: opened beneath a root without following links, read
// within a bound, and published so that a reader sees the old bytes or the new ones and nothing between.
//
// Promise: open_beneath() never leaves `root` and meets no symbolic link, not even one that points inside,
// and never blocks on a FIFO. Reading functions refuse what is not a regular file and what is larger than the
// bound. Errors: os_code carries errno where a system call failed, so that a caller can tell ENOENT (or
// ENOTDIR) from ELOOP (a link on the way) and EXDEV (a way out of the root). Messages name what was being
// done, never a path. Threads: any; nothing here keeps state. Source: openat2(2), rename(2), fsync(2).
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace repobridge::platform {

// Which object a name led to. Two names with equal identity are one file.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

// What fstat() said at one moment. Equal facts before and after a read mean that nobody wrote in between, as
// far as the file system tells; a store through a memory map may go unseen.
struct FileFacts {
  FileIdentity identity;
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  std::uint64_t links = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  [[nodiscard]] bool is_regular() const { return S_ISREG(mode); }
  [[nodiscard]] bool is_directory() const { return S_ISDIR(mode); }
  [[nodiscard]] bool is_link() const { return S_ISLNK(mode); }
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

enum class OpenAs : std::uint8_t {
  readable,   // for reading; never waits for a writer
  directory,  // a directory whose entries can be read
  location,   // only the place: for facts, or as the root of further opens; a link at the end is itself a
              // place
};

Result<UniqueFd> open_directory(const std::string& absolute_path);
Result<UniqueFd> open_beneath(int root, const std::string& relative, OpenAs as);

Result<FileFacts> facts_of(int fd);
// Facts of `name` in `directory` itself; a link is described, not followed. nullopt: there is no such entry.
Result<std::optional<FileFacts>> facts_at(int directory, const std::string& name);
// The same for a path; directories above may be reached through links.
Result<std::optional<FileFacts>> facts_of_path(const std::string& path);

// Whether an error only says that nothing of that name is there.
bool is_absent(const Error& error);

// The whole of a regular file, wherever the descriptor stands in it. Code FILE_TOO_LARGE when it holds more
// than `max_bytes`, NOT_A_REGULAR_FILE when it is something else.
Result<std::string> read_regular(int fd, std::size_t max_bytes);
Result<std::optional<std::string>> read_beneath_if_present(int root, const std::string& relative,
                                                           std::size_t max_bytes);
// The same for a path that may lead through links: for files that the user means when naming them.
Result<std::optional<std::string>> read_if_present(const std::string& path, std::size_t max_bytes);
Result<std::string> read_link_beneath(int directory, const std::string& name);

// The whole of a file that decides what we may do: a regular file and no link, of this user or root, that
// nobody else may write and whose directories check_ancestors() accepts. Links above it are resolved first.
// Code FILE_UNTRUSTED when it is another kind of file, FILE_TOO_LARGE past `max_bytes`.
Result<std::string> read_trusted_file(const std::string& path, std::size_t max_bytes);

Result<std::vector<std::string>> list_directory(int directory);

Result<void> write_all(int fd, std::string_view bytes);
Result<void> sync_file(int fd);

// Creates `path`, which must not exist, with `mode`, durable when it returns.
Result<void> create_file(const std::string& path, std::string_view bytes, mode_t mode);

// An existing file whose end everything written goes to; a line in one write() never mixes with another's.
Result<UniqueFd> open_to_append(const std::string& path);

// Replaces `path` or creates it, with `mode`. Refused, and the target untouched, when what stands there is
// not a regular file of this user that nobody else may write (TARGET_UNSAFE). Durable when it returns.
Result<void> publish_file(const std::string& path, std::string_view bytes, mode_t mode);
// The same without waiting for the disk: after a power cut the old bytes stand there, the new ones or fewer.
Result<void> replace_file(const std::string& path, std::string_view bytes, mode_t mode);
// The first half of publish_file() alone: would it be accepted?
Result<void> check_publishable(const std::string& path);

// A file written beside its target and not yet in its place, for files that are to change together: stage
// all, then replace all. One that was not put in its place is removed. Owns: the temporary file.
class StagedFile {
 public:
  static Result<StagedFile> stage(const std::string& path, std::string_view bytes, mode_t mode);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  ~StagedFile();

  // Once only.
  Result<void> replace();

 private:
  StagedFile(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}
  std::string path_;
  std::string temporary_;  // "" once it is in its place
};

// Makes `path` and what is missing above it, each level 0700. What exists is verified, never repaired: the
// last level must be a real directory of this user, closed to everyone else (DIRECTORY_UNSAFE).
Result<void> make_private_directory(const std::string& path);
// The verifying alone.
Result<void> check_private_directory(const std::string& path);

// Refuses (DIRECTORY_UNSAFE) when another user than root could replace something on the way to `path`: each
// directory above must belong to this user or root and not be writable by others, unless sticky.
Result<void> check_ancestors(const std::string& path);

// The path without links, dots and doubled slashes; it must exist.
Result<std::string> canonical_path(const std::string& path);
// The same for a path whose last parts may still be missing. Refused (PATH_UNPLANNABLE) when a missing part
// is "." or "..", or a link that leads nowhere. A relative path begins at the working directory.
Result<std::string> planned_path(const std::string& path);

// Removes a directory tree that this process made. Links are removed, not followed.
void remove_tree(const std::string& path);

}  // namespace repobridge::platform
