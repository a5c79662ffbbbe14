#include "platform/room_calls.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace repobridge::platform {
namespace {

constexpr std::array kRefused = {SCMP_SYS(mount),
                                 SCMP_SYS(umount),
                                 SCMP_SYS(umount2),
                                 SCMP_SYS(pivot_root),
                                 SCMP_SYS(chroot),
                                 SCMP_SYS(open_tree),
                                 SCMP_SYS(move_mount),
                                 SCMP_SYS(fsopen),
                                 SCMP_SYS(fsconfig),
                                 SCMP_SYS(fsmount),
                                 SCMP_SYS(fspick),
                                 SCMP_SYS(mount_setattr),
                                 SCMP_SYS(unshare),
                                 SCMP_SYS(setns),
                                 SCMP_SYS(io_uring_setup),
                                 SCMP_SYS(io_uring_enter),
                                 SCMP_SYS(io_uring_register),
                                 SCMP_SYS(add_key),
                                 SCMP_SYS(request_key),
                                 SCMP_SYS(keyctl),
                                 SCMP_SYS(bpf),
                                 SCMP_SYS(perf_event_open),
                                 SCMP_SYS(userfaultfd),
                                 SCMP_SYS(open_by_handle_at),
                                 SCMP_SYS(name_to_handle_at),
                                 SCMP_SYS(kexec_load),
                                 SCMP_SYS(kexec_file_load),
                                 SCMP_SYS(init_module),
                                 SCMP_SYS(finit_module),
                                 SCMP_SYS(delete_module),
                                 SCMP_SYS(swapon),
                                 SCMP_SYS(swapoff),
                                 SCMP_SYS(reboot),
                                 SCMP_SYS(acct),
                                 SCMP_SYS(quotactl)};

// Which arguments have the mode of a file, and the flags that say whether it counts.
struct ModeOf {
  int call = 0;
  unsigned mode = 0;
  std::optional<unsigned> flags;
};
constexpr int kFchmodat2 = 452;  // everywhere; younger than the library
constexpr std::array kModes = {
    ModeOf{SCMP_SYS(chmod), 1, {}}, ModeOf{SCMP_SYS(fchmod), 1, {}}, ModeOf{SCMP_SYS(fchmodat), 2, {}},
    ModeOf{kFchmodat2, 2, {}},      ModeOf{SCMP_SYS(mknod), 1, {}},  ModeOf{SCMP_SYS(mknodat), 2, {}},
    ModeOf{SCMP_SYS(creat), 1, {}}, ModeOf{SCMP_SYS(open), 2, 1},    ModeOf{SCMP_SYS(openat), 3, 2}};

constexpr std::array<scmp_datum_t, 2> kLending = {S_ISUID, S_ISGID};
constexpr std::array<scmp_datum_t, 2> kMakes = {O_CREAT, O_TMPFILE & ~O_DIRECTORY};

constexpr std::array<scmp_datum_t, 7> kNamespaces = {
    CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET};

// Which argument of clone has the flags.
#ifdef __s390__
constexpr unsigned kFlagsOfClone = 1;
#else
constexpr unsigned kFlagsOfClone = 0;
#endif

// (The library's macros for arguments are C, which clang does not take for C++.)
constexpr scmp_arg_cmp first_is(scmp_datum_t value) {
  return {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}
constexpr scmp_arg_cmp first_is_above(scmp_datum_t value) {
  return {.arg = 0, .op = SCMP_CMP_GT, .datum_a = value, .datum_b = 0};
}
constexpr scmp_arg_cmp first_is_not(scmp_datum_t value) {
  return {.arg = 0, .op = SCMP_CMP_NE, .datum_a = value, .datum_b = 0};
}
constexpr scmp_arg_cmp has(unsigned argument, scmp_datum_t bits) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = bits};
}
// Of a socket: without the flags beside it.
constexpr scmp_arg_cmp second_has_type(scmp_datum_t type) {
  constexpr scmp_datum_t kType = 0xf;
  return {.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = kType, .datum_b = type};
}

class Refusals {
 public:
  Refusals() : context_(::seccomp_init(SCMP_ACT_ALLOW), &::seccomp_release) {}

  Result<void> load() {
    if (!context_) return os_failure("make a filter of calls", ENOMEM);
    bool added = ::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) == 0;
    for (const int call : kRefused) added = refuse(call, EPERM, {}) && added;
    added = refuse(SCMP_SYS(clone3), ENOSYS, {}) && added;
    for (const auto flag : kNamespaces)
      added = refuse(SCMP_SYS(clone), EPERM, {has(kFlagsOfClone, flag)}) && added;
    added = refuse_families() && added;
    added = refuse_pairs() && added;
    added = refuse_modes() && added;
    if (!added) return os_failure("make a filter of calls", EINVAL);
    const int rc = ::seccomp_load(context_.get());
    return rc == 0 ? Result<void>() : os_failure("refuse calls", -rc);
  }

 private:
  // The kernel takes the family as an int. A value with something in the upper half is above them all here.
  bool refuse_families() {
    bool added = refuse(SCMP_SYS(socket), EPERM, {first_is(AF_UNIX)});
    for (scmp_datum_t family = 0; family <= AF_NETLINK; ++family) {
      if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
      added = refuse(SCMP_SYS(socket), EAFNOSUPPORT, {first_is(family)}) && added;
    }
    return refuse(SCMP_SYS(socket), EAFNOSUPPORT, {first_is_above(AF_NETLINK)}) && added;
  }

  // One of a pair for datagrams sends to any socket that its path leads to, and can be bound to one.
  bool refuse_pairs() {
    bool added = refuse(SCMP_SYS(socketpair), EAFNOSUPPORT, {first_is_not(AF_UNIX)});
    for (const auto type : {SOCK_DGRAM, SOCK_RAW}) {
      added = refuse(SCMP_SYS(socketpair), EPERM, {second_has_type(type)}) && added;
    }
    return added;
  }

  // What is left behind with such a bit in a workdir gives the user's rights to whoever starts it there.
  bool refuse_modes() {
    bool added = refuse(SCMP_SYS(openat2), ENOSYS, {});  // no filter can see its mode
    for (const auto& [call, mode, flags] : kModes) {
      for (const auto bit : kLending) {
        if (!flags) added = refuse(call, EPERM, {has(mode, bit)}) && added;
        for (const auto makes : flags ? std::span(kMakes) : std::span<const scmp_datum_t>()) {
          added = refuse(call, EPERM, {has(*flags, makes), has(mode, bit)}) && added;
        }
      }
    }
    return added;
  }

  bool refuse(int call, int answer, const std::vector<scmp_arg_cmp>& arguments) {
    const auto action = SCMP_ACT_ERRNO(static_cast<unsigned>(answer));
    const int rc = ::seccomp_rule_add_array(context_.get(), action, call,
                                            static_cast<unsigned>(arguments.size()), arguments.data());
    return rc == 0 || rc == -EDOM;  // EDOM: this machine's kind has no such call
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
};

}  // namespace

Result<void> refuse_calls() { return Refusals().load(); }

bool can_refuse_calls() {
  const std::uint32_t answer = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &answer) == 0;
}

}  // namespace repobridge::platform
