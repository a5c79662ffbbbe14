// The ssh that git starts for a push: the user's own, kept from asking anybody.
//
// Source: ssh(1), ssh_config(5) (the first value of an option is the one that counts); git-config(1),
// core.sshCommand.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace repobridge::git {

// `users`: the user's core.sshCommand, "" for none. With BatchMode, no shared connections, and what ssh has
// to say in the file `log` instead of among the remote's words; everything else stays the user's. nullopt
// when it is not plainly an OpenSSH client, whose options these are: then the user's command runs as it is,
// and asks nobody for want of a terminal and of an askpass program.
std::optional<std::string> unattended_ssh(std::string_view users, std::string_view log);

}  // namespace repobridge::git
