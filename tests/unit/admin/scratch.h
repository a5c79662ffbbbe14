// A private directory for one test, gone with it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "platform/files.h"

namespace repobridge::admin {

class Scratch : public testing::Test {
 protected:
  Scratch() {
    std::string name = "/tmp/repobridge-test-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = platform::canonical_path(name).value_or("");
  }
  ~Scratch() override { platform::remove_tree(path_); }

  void SetUp() override { ASSERT_FALSE(path_.empty()); }

  [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }

  std::string directory(const std::string& name, mode_t mode = 0700) {
    EXPECT_EQ(::mkdir(at(name).c_str(), mode), 0) << name;
    EXPECT_EQ(::chmod(at(name).c_str(), mode), 0) << name;
    return at(name);
  }

  std::string file(const std::string& name, std::string_view bytes, mode_t mode = 0600) {
    EXPECT_TRUE(platform::create_file(at(name), bytes, mode)) << name;
    return at(name);
  }

  std::string link(const std::string& name, const std::string& target) {
    EXPECT_EQ(::symlink(target.c_str(), at(name).c_str()), 0) << name;
    return at(name);
  }

  std::string program(const std::string& name, std::string_view text = "#!/bin/sh\n") {
    return file(name, text, 0700);
  }

 private:
  std::string path_;
};

}  // namespace repobridge::admin
