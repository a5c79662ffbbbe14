#include "bridge/git/ssh_command.h"

#include <gtest/gtest.h>

namespace repobridge::git {
namespace {

constexpr const char* kOptions =
    " -o BatchMode=yes -o ControlMaster=no -o ControlPath=none -o LogLevel=INFO -E ssh.log";

TEST(SshCommand, IsSshWhenTheUserNamesNone) {
  EXPECT_EQ(unattended_ssh("", "ssh.log"), std::string("ssh") + kOptions);
}

TEST(SshCommand, KeepsTheUsersOwnWithOurOptionsBeforeTheirs) {
  EXPECT_EQ(unattended_ssh("ssh -i ~/.ssh/work -o BatchMode=no", "ssh.log"),
            std::string("ssh") + kOptions + " -i ~/.ssh/work -o BatchMode=no");
  EXPECT_EQ(unattended_ssh("  /usr/bin/ssh\t-F 'my config'", "ssh.log"),
            std::string("/usr/bin/ssh") + kOptions + "\t-F 'my config'");
  EXPECT_EQ(unattended_ssh("~/bin/ssh", "ssh.log"), std::string("~/bin/ssh") + kOptions);
}

TEST(SshCommand, LeavesWhatIsNotPlainlyOpenSshAlone) {
  for (const char* users : {"plink -batch", "/opt/ssh-wrapper", "ssh; true", "'/my programs/ssh' -v",
                            "KEY=1 ssh", "$HOME/bin/ssh", "ssh.exe", "myssh", "ssh/", "(ssh)"}) {
    EXPECT_EQ(unattended_ssh(users, "ssh.log"), std::nullopt) << users;
  }
}

}  // namespace
}  // namespace repobridge::git
