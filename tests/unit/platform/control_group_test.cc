#include "platform/control_group.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::value_of;
using Places = std::vector<std::string>;

constexpr std::string_view kUsual =
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr std::string_view kBesideTheOld =
    "30 22 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
constexpr std::string_view kPartly = "30 22 0:26 /user.slice/a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

TEST(ControlGroup, IsFoundWhereTheHierarchyIsMounted) {
  EXPECT_EQ(value_of(control_group_in(kUsual, "0::/user.slice/a\n")), "/sys/fs/cgroup/user.slice/a");
  EXPECT_EQ(value_of(control_group_in(kUsual, "0::/\n")), "/sys/fs/cgroup");
  EXPECT_EQ(value_of(control_group_in(kBesideTheOld, "2:pids:/x\n1:name=systemd:/\n0::/y\n")),
            "/sys/fs/cgroup/unified/y");
}

TEST(ControlGroup, IsSeenFromThePartThatIsMounted) {
  EXPECT_EQ(value_of(control_group_in(kPartly, "0::/user.slice/a\n")), "/sys/fs/cgroup");
  EXPECT_EQ(value_of(control_group_in(kPartly, "0::/user.slice/a/b\n")), "/sys/fs/cgroup/b");
  for (const char* elsewhere : {"0::/user.slice/ab\n", "0::/user.slice\n", "0::/../other\n"}) {
    EXPECT_EQ(control_group_in(kPartly, elsewhere).error().os_code, ENODATA) << elsewhere;
  }
}

TEST(ControlGroup, IsNowhereWithoutTheHierarchy) {
  EXPECT_EQ(control_group_in("", "0::/\n").error().os_code, ENODATA);
  EXPECT_EQ(control_group_in(kUsual, "2:pids:/x\n").error().os_code, ENODATA);
  EXPECT_EQ(control_group_in(kUsual, "").error().os_code, ENODATA);
}

TEST(ControlGroup, ListsEveryMountByItsPlainName) {
  EXPECT_EQ(control_group_mounts(kBesideTheOld), (Places{"/sys/fs/cgroup/unified"}));
  EXPECT_EQ(control_group_mounts("9 1 0:26 / /a\\040b\\134c rw - cgroup2 x rw\nbroken\n"),
            (Places{"/a b\\c"}));
}

TEST(ControlGroup, IsNotAnOrdinaryDirectory) {
  const tests::TemporaryDirectory directory;

  EXPECT_EQ(ControlGroup::open(directory.path()).error().os_code, ENODATA);
  EXPECT_FALSE(end_control_group(directory.path(), std::chrono::milliseconds{10}));
  EXPECT_FALSE(check_delegated(directory.path()));
  EXPECT_FALSE(ControlGroup::make(directory / "inside"));
  EXPECT_FALSE(tests::exists(directory / "inside"));
}

}  // namespace
}  // namespace repobridge::platform
