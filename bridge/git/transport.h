// A private repository that has no object of its own and borrows all from the workdir's: git pushes from
// here, with a configuration that we wrote.
//
// Owns: the directory below the state directory; removed with the object.
// Source: gitrepository-layout(5), "objects/info/alternates".
#pragma once

#include <string>
#include <vector>

#include "platform/files.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::git {

class Transport {
 public:
  // `shallow`: the text of the shallow file, or null.
  static Result<Transport> make(const std::string& state_dir, const std::string& root,
                                const policy::Json& shallow);
  Transport(Transport&& other) noexcept;
  Transport& operator=(Transport&& other) noexcept;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  // git on a transport repository, with everything of the user's configuration overridden that would send
  // more than was asked for or start something.
  static std::vector<std::string> git_command(const std::string& git, const std::string& directory);

  // Removes what a crashed bridge left.
  static void remove_leftovers(const std::string& state_dir);

 private:
  Transport() = default;
  std::string directory_;
  platform::UniqueFd descriptor_;
};

}  // namespace repobridge::git
