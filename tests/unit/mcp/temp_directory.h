// A private directory that is gone when the test is.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "platform/files.h"

namespace repobridge::mcp {

class TempDirectory {
 public:
  TempDirectory() {
    std::string path = testing::TempDir() + "/repobridge-XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) path_ = *platform::canonical_path(path);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() { platform::remove_tree(path_); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name) << text;
    return *this / name;
  }

 private:
  std::string path_;
};

}  // namespace repobridge::mcp
