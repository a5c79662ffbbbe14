// What would tell that somebody replaced a file and put it back: device, inode and time of change of every
// component that was looked at.
//
// Promise: two traces are equal when the same things were looked at in the same order and none of them was
// written, renamed, linked or replaced in between, as far as the file system's clock tells: a change within
// the tick (4 to 10 ms on most machines) in which the first look found another one goes unseen. A directory
// counts as changed when an entry was added, removed or renamed in it. It knows how much memory copies of all
// that take at most. Threads: a Trace belongs to one.
// Source: inode(7), "ctime".
#pragma once

#include <cstdint>
#include <string>

#include "platform/digest.h"
#include "platform/files.h"

namespace repobridge::actions {

class Trace {
 public:
  void add(const platform::FileFacts& facts);
  // Ends it.
  std::string text() { return digest_.hex(); }
  [[nodiscard]] std::uint64_t bytes_of_copies() const { return bytes_of_copies_; }

 private:
  std::uint64_t bytes_of_copies_ = 0;
  platform::Sha256 digest_;
};

}  // namespace repobridge::actions
