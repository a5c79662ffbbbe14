// A kernel that seems to lack a layer of the sandbox, for this process and what it becomes.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace repobridge::tests {

template <std::size_t kLength>
bool answer_calls_by(std::array<sock_filter, kLength> program) {
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr sock_filter load(std::size_t place) {
  return {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = static_cast<std::uint32_t>(place)};
}
// Passes over the next instructions, `skipped` many, unless what was loaded is `value`.
constexpr sock_filter unless_it_is(std::uint32_t value, std::uint8_t skipped) {
  return {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = skipped, .k = value};
}
constexpr sock_filter refuse(int number) {
  const auto error = static_cast<std::uint32_t>(number);
  return {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ERRNO | error};
}
constexpr sock_filter kAllow{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ALLOW};

// The kernel's answer where Landlock was not built in. Whether it could be done.
inline bool hide_landlock() {
  return answer_calls_by(std::array{load(offsetof(seccomp_data, nr)),
                                    unless_it_is(SYS_landlock_create_ruleset, 1), refuse(ENOSYS), kAllow});
}

constexpr sock_filter unless_it_has(std::uint32_t bits, std::uint8_t skipped) {
  return {.code = BPF_JMP | BPF_JSET | BPF_K, .jt = 0, .jf = skipped, .k = bits};
}

// A host that lets nobody make namespaces, as container engines and some distributions do.
inline bool hide_namespaces() {
  constexpr std::uint32_t kAny = 0x7e020000;  // CLONE_NEW… but for time
  return answer_calls_by(std::array{load(offsetof(seccomp_data, nr)), unless_it_is(SYS_unshare, 1),
                                    refuse(EPERM), unless_it_is(SYS_clone, 3),
                                    load(offsetof(seccomp_data, args)), unless_it_has(kAny, 1), refuse(EPERM),
                                    kAllow});
}

// The same for seccomp, by its own call and by the older one.
inline bool hide_seccomp() {
  return answer_calls_by(std::array{load(offsetof(seccomp_data, nr)), unless_it_is(SYS_seccomp, 1),
                                    refuse(ENOSYS), unless_it_is(SYS_prctl, 3),
                                    load(offsetof(seccomp_data, args)), unless_it_is(PR_SET_SECCOMP, 1),
                                    refuse(EINVAL), kAllow});
}

}  // namespace repobridge::tests
