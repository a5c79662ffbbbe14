// A directory of one test's own, 0700, removed when the test ends.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "platform/files.h"
#include "platform/unique_fd.h"
#include "tests/unit/results.h"

namespace repobridge::tests {

class TemporaryDirectory {
 public:
  // In /tmp whatever TMPDIR says: a socket's path must stay short.
  TemporaryDirectory() {
    std::string name = "/tmp/repobridge-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  [[nodiscard]] platform::UniqueFd open() const { return value_of(platform::open_directory(path_)); }

  // A new file with exactly this mode; its path.
  std::string write(std::string_view name, std::string_view bytes, mode_t mode = 0600) const {
    std::string path = *this / name;
    value_of(platform::create_file(path, bytes, mode));
    return path;
  }
  // A new directory with exactly this mode; its path.
  std::string make(std::string_view name, mode_t mode = 0700) const {
    std::string path = *this / name;
    if (::mkdir(path.c_str(), mode) != 0 || ::chmod(path.c_str(), mode) != 0) {
      throw std::runtime_error("no directory " + path);
    }
    return path;
  }
  // A new symbolic link; its path.
  std::string link(std::string_view name, const std::string& target) const {
    std::string path = *this / name;
    if (::symlink(target.c_str(), path.c_str()) != 0) throw std::runtime_error("no link " + path);
    return path;
  }
  // A new FIFO; its path.
  std::string fifo(std::string_view name) const {
    std::string path = *this / name;
    if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no FIFO " + path);
    return path;
  }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  const platform::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  constexpr std::size_t kEnough = 64U << 20U;
  return value_of(platform::read_regular(fd.get(), kEnough));
}

inline mode_t mode_of(const std::string& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) throw std::runtime_error("nothing at " + path);
  return s.st_mode & 07777U;
}

inline bool exists(const std::string& path) {
  struct stat s {};
  return ::lstat(path.c_str(), &s) == 0;
}

}  // namespace repobridge::tests
