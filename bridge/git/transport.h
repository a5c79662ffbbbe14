// A private repository that has no object of its own and borrows all from the workdir's: git pushes from
// here, with a configuration that we wrote.
//
// Promise: git finds the user's own configuration as it would in the workdir: the same branch is checked out,
// a remote has the same URL, and include() adds what only the place decides. Owns: the directory below the
// state directory; removed with the object. Source: gitrepository-layout(5), "objects/info/alternates".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/files.h"
#include "platform/result.h"
#include "policy/json.h"

namespace repobridge::git {

class Transport {
 public:
  // What it stands in for.
  struct Origin {
    std::string root;       // of the workdir
    std::string reference;  // the local branch, refs/heads/…
    std::string url;        // the remote's, as the repository's configuration has it
    policy::Json shallow;   // the text of the shallow file, or null
  };
  static Result<Transport> make(const std::string& state_dir, Origin origin);
  Transport(Transport&& other) noexcept = default;
  Transport& operator=(Transport&& other) noexcept = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport() = default;

  [[nodiscard]] const std::string& directory() const { return directory_.path(); }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // What git is to call the remote: a name that no one's own configuration has one of.
  static constexpr const char* kRemote = "repobridge-upstream";

  // Further files of the user's configuration.
  Result<void> include(std::vector<std::string> files);
  // The remote is at this URL, for asking as for pushing, whatever rules for parts of its URL say, and
  // nowhere that a redirect leads to.
  Result<void> settle_on(std::string url);

  // git on a transport repository, with everything of the user's configuration overridden that would send
  // more than was asked for or start something.
  static std::vector<std::string> git_command(const std::string& git, const std::string& directory);

  // The name, within the directory, of the file that ssh may write what it has to say to.
  static constexpr const char* kSshLog = "ssh.log";
  // What it wrote since this was asked last.
  [[nodiscard]] std::string take_ssh_log() const;

  // Removes what a crashed bridge left.
  static void remove_leftovers(const std::string& state_dir);

 private:
  class Directory {
   public:
    Directory() = default;
    explicit Directory(std::string path) : path_(std::move(path)) {}
    Directory(Directory&& other) noexcept;
    Directory& operator=(Directory&& other) noexcept;
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory();
    [[nodiscard]] const std::string& path() const { return path_; }

   private:
    std::string path_;
  };

  Transport() = default;
  [[nodiscard]] Result<void> write_config() const;

  Directory directory_;
  platform::UniqueFd descriptor_;
  std::string url_;
  std::vector<std::string> includes_;
  std::optional<std::string> settled_on_;
};

}  // namespace repobridge::git
