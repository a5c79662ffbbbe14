#include "platform/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::bytes_of;
using tests::code_of;
using tests::exists;
using tests::mode_of;
using tests::os_code_of;
using tests::TemporaryDirectory;
using tests::value_of;

// Another user, for those rules that only root can set the stage for.
constexpr uid_t kSomeoneElse = 12345;

// The umask of this process until the end of the test.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

UniqueFd opened(const std::string& path, int flags = O_RDONLY) {
  return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
}

std::vector<std::string> sorted_names_in(const TemporaryDirectory& dir) {
  auto names = value_of(list_directory(dir.open().get()));
  std::ranges::sort(names);
  return names;
}

// --- open_beneath ------------------------------------------------------------------------------------------

constexpr std::array kEveryWay = {OpenAs::readable, OpenAs::directory, OpenAs::location};

TEST(OpenBeneath, OpensAFileForReading) {
  const TemporaryDirectory dir;
  dir.make("sub");
  dir.write("sub/f", "bytes");

  const auto file = value_of(open_beneath(dir.open().get(), "sub/f", OpenAs::readable));

  EXPECT_EQ(value_of(read_regular(file.get(), 100)), "bytes");
}

TEST(OpenBeneath, GivesADescriptorThatNoChildInherits) {
  const TemporaryDirectory dir;
  dir.make("sub");

  for (const auto as : kEveryWay) {
    const auto file = value_of(open_beneath(dir.open().get(), "sub", as));
    EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(OpenBeneath, FindsNoWayOutOfTheRoot) {
  const TemporaryDirectory dir;
  dir.make("root");
  dir.make("root/sub");
  dir.write("outside", "secret");
  const auto root = value_of(open_directory(dir / "root"));

  for (const char* way : {"..", "../outside", "sub/../..", "sub/../../outside", "/", "/etc/passwd"}) {
    for (const auto as : kEveryWay) {
      EXPECT_EQ(os_code_of(open_beneath(root.get(), way, as)), EXDEV) << way;
    }
  }
}

TEST(OpenBeneath, StaysInARootThatWasMovedAndReplaced) {
  const TemporaryDirectory dir;
  dir.make("root");
  dir.write("root/f", "ours");
  const auto root = value_of(open_directory(dir / "root"));
  ASSERT_EQ(::rename((dir / "root").c_str(), (dir / "moved").c_str()), 0);
  dir.make("root");
  dir.write("root/f", "planted");

  const auto file = value_of(open_beneath(root.get(), "f", OpenAs::readable));

  EXPECT_EQ(value_of(read_regular(file.get(), 100)), "ours");
}

TEST(OpenBeneath, MeetsNoLinkNotEvenOneThatPointsInside) {
  const TemporaryDirectory dir;
  dir.make("root");
  dir.make("root/real");
  dir.write("root/real/f", "inside");
  dir.write("outside", "secret");
  dir.link("root/to_file", "real/f");
  dir.link("root/to_directory", "real");
  dir.link("root/to_outside", "../outside");
  dir.link("root/absolute", dir / "outside");
  dir.link("root/dangling", "nothing");
  const auto root = value_of(open_directory(dir / "root"));

  for (const char* way : {"to_file", "to_directory", "to_outside", "absolute", "dangling"}) {
    EXPECT_EQ(os_code_of(open_beneath(root.get(), way, OpenAs::readable)), ELOOP) << way;
    EXPECT_FALSE(open_beneath(root.get(), way, OpenAs::directory)) << way;
  }
  for (const auto as : kEveryWay) {
    EXPECT_EQ(os_code_of(open_beneath(root.get(), "to_directory/f", as)), ELOOP);
    EXPECT_EQ(os_code_of(open_beneath(root.get(), "to_directory/../real/f", as)), ELOOP);
    EXPECT_EQ(os_code_of(open_beneath(root.get(), "to_directory/.", as)), ELOOP);
  }
}

TEST(OpenBeneath, MeetsNoMagicLink) {
  const auto process = value_of(open_directory("/proc/" + std::to_string(::getpid())));

  for (const char* way : {"root/etc/passwd", "cwd", "exe", "fd/0"}) {
    EXPECT_EQ(os_code_of(open_beneath(process.get(), way, OpenAs::readable)), ELOOP) << way;
  }
}

TEST(OpenBeneath, ShowsALinkAsAPlaceAndGoesNoFurther) {
  const TemporaryDirectory dir;
  dir.make("real");
  dir.write("real/f", "inside");
  dir.link("link", "real");

  const auto place = value_of(open_beneath(dir.open().get(), "link", OpenAs::location));

  EXPECT_TRUE(value_of(facts_of(place.get())).is_link());
  EXPECT_FALSE(open_beneath(place.get(), "f", OpenAs::readable));
  EXPECT_FALSE(read_regular(place.get(), 100));
}

TEST(OpenBeneath, DoesNotWaitForTheWriterOfAFifo) {
  const TemporaryDirectory dir;
  dir.fifo("pipe");

  const auto pipe = value_of(open_beneath(dir.open().get(), "pipe", OpenAs::readable));

  EXPECT_EQ(code_of(read_regular(pipe.get(), 100)), "NOT_A_REGULAR_FILE");
}

TEST(OpenBeneath, OpensOnlyADirectoryAsADirectory) {
  const TemporaryDirectory dir;
  dir.write("file", "");
  dir.fifo("pipe");
  const auto root = dir.open();

  EXPECT_EQ(os_code_of(open_beneath(root.get(), "file", OpenAs::directory)), ENOTDIR);
  EXPECT_EQ(os_code_of(open_beneath(root.get(), "pipe", OpenAs::directory)), ENOTDIR);
}

TEST(OpenBeneath, TellsWhatIsAbsentFromWhatIsRefused) {
  const TemporaryDirectory dir;
  dir.write("file", "");
  dir.link("dangling", "nothing");
  const auto root = dir.open();
  const auto absent = [&](const char* way) {
    const auto fd = open_beneath(root.get(), way, OpenAs::readable);
    return !fd && is_absent(fd.error());
  };

  EXPECT_TRUE(absent("nothing"));
  EXPECT_TRUE(absent("nothing/below"));
  EXPECT_TRUE(absent("file/below"));
  EXPECT_TRUE(absent(""));
  EXPECT_FALSE(absent("dangling"));
  EXPECT_FALSE(absent(".."));
}

TEST(OpenBeneath, NamesNoPathInItsMessage) {
  const TemporaryDirectory dir;

  const auto fd = open_beneath(dir.open().get(), "the-secret-name", OpenAs::readable);

  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().message.find("secret"), std::string::npos);
  EXPECT_EQ(fd.error().message.find(dir.path()), std::string::npos);
}

TEST(OpenDirectory, RefusesALinkInPlaceOfTheDirectory) {
  const TemporaryDirectory dir;
  dir.make("real");
  dir.link("link", "real");

  EXPECT_EQ(code_of(open_directory(dir / "real")), "OK");
  EXPECT_FALSE(open_directory(dir / "link"));
  EXPECT_EQ(os_code_of(open_directory(dir / "nothing")), ENOENT);
}

// --- facts -------------------------------------------------------------------------------------------------

TEST(Facts, SayWhatStandsThere) {
  const TemporaryDirectory dir;
  const auto path = dir.write("f", "12345", 0640);

  const auto facts = value_of(facts_of(opened(path).get()));

  EXPECT_TRUE(facts.is_regular());
  EXPECT_FALSE(facts.is_directory());
  EXPECT_FALSE(facts.is_link());
  EXPECT_EQ(facts.mode & 07777U, 0640U);
  EXPECT_EQ(facts.owner, ::geteuid());
  EXPECT_EQ(facts.links, 1U);
  EXPECT_EQ(facts.size_bytes, 5U);
}

TEST(Facts, DescribeALinkAndNotItsTarget) {
  const TemporaryDirectory dir;
  dir.link("dangling", "nothing");

  const auto facts = value_of(facts_at(dir.open().get(), "dangling"));

  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->is_link());
}

TEST(Facts, AreNoneWhereNothingIs) {
  const TemporaryDirectory dir;
  dir.write("file", "");

  EXPECT_EQ(value_of(facts_at(dir.open().get(), "nothing")), std::nullopt);
  EXPECT_EQ(value_of(facts_at(dir.open().get(), "file/below")), std::nullopt);
}

TEST(Facts, HaveOneIdentityUnderTwoNames) {
  const TemporaryDirectory dir;
  const auto path = dir.write("f", "");
  ASSERT_EQ(::link(path.c_str(), (dir / "g").c_str()), 0);
  dir.write("h", "");
  const auto root = dir.open();

  const auto f = value_of(facts_at(root.get(), "f"));
  const auto g = value_of(facts_at(root.get(), "g"));
  const auto h = value_of(facts_at(root.get(), "h"));

  EXPECT_EQ(f->identity, g->identity);
  EXPECT_EQ(f->links, 2U);
  EXPECT_NE(f->identity, h->identity);
}

TEST(Facts, DifferAfterAWriteThatKeepsTheSize) {
  const TemporaryDirectory dir;
  const auto file = opened(dir.write("f", "old"), O_RDWR);
  // Stamps of the file system's clock, which ticks seldom, would do too; this one cannot be the same.
  const std::array<timespec, 2> long_ago{timespec{.tv_sec = 1, .tv_nsec = 0},
                                         timespec{.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::futimens(file.get(), long_ago.data()), 0);
  const auto before = value_of(facts_of(file.get()));

  ASSERT_EQ(::pwrite(file.get(), "new", 3, 0), 3);

  EXPECT_NE(value_of(facts_of(file.get())), before);
}

// --- reading -----------------------------------------------------------------------------------------------

TEST(ReadRegular, TakesExactlyTheLimitAndNotAByteMore) {
  const TemporaryDirectory dir;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{65537}}) {
    const std::string bytes(size, 'x');
    const auto path = dir.write("f", bytes);

    EXPECT_EQ(value_of(read_regular(opened(path).get(), size)), bytes);
    if (size > 0) {
      EXPECT_EQ(code_of(read_regular(opened(path).get(), size - 1)), "FILE_TOO_LARGE") << size;
    }

    ::unlink(path.c_str());
  }
}

TEST(ReadRegular, RefusesAHugeFileWithoutReadingItWhole) {
  const TemporaryDirectory dir;
  const auto path = dir.write("sparse", "");
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);

  const auto read = read_regular(opened(path).get(), 1000);

  EXPECT_EQ(code_of(read), "FILE_TOO_LARGE");
  EXPECT_EQ(read.error().kind, Kind::too_large);
}

TEST(ReadRegular, ReadsTheWholeFileWhereverTheDescriptorStands) {
  const TemporaryDirectory dir;
  const auto file = opened(dir.write("f", "all of it"));
  ASSERT_EQ(::lseek(file.get(), 4, SEEK_SET), 4);

  EXPECT_EQ(value_of(read_regular(file.get(), 100)), "all of it");
  EXPECT_EQ(value_of(read_regular(file.get(), 100)), "all of it");
}

TEST(ReadRegular, RefusesWhatIsNoRegularFile) {
  const TemporaryDirectory dir;
  dir.fifo("pipe");

  EXPECT_EQ(code_of(read_regular(dir.open().get(), 100)), "NOT_A_REGULAR_FILE");
  EXPECT_EQ(code_of(read_regular(opened(dir / "pipe", O_RDONLY | O_NONBLOCK).get(), 100)),
            "NOT_A_REGULAR_FILE");
  EXPECT_EQ(code_of(read_regular(opened("/dev/zero").get(), 100)), "NOT_A_REGULAR_FILE");
}

TEST(ReadBeneath, TellsAbsentFromRefused) {
  const TemporaryDirectory dir;
  dir.write("f", "bytes");
  dir.link("link", "f");
  dir.fifo("pipe");
  const auto root = dir.open();

  EXPECT_EQ(value_of(read_beneath_if_present(root.get(), "f", 5)), "bytes");
  EXPECT_EQ(value_of(read_beneath_if_present(root.get(), "nothing", 5)), std::nullopt);
  EXPECT_EQ(code_of(read_beneath_if_present(root.get(), "f", 4)), "FILE_TOO_LARGE");
  EXPECT_EQ(os_code_of(read_beneath_if_present(root.get(), "link", 5)), ELOOP);
  EXPECT_EQ(code_of(read_beneath_if_present(root.get(), "pipe", 5)), "NOT_A_REGULAR_FILE");
}

TEST(ReadLink, GivesTheTargetAsItIsWritten) {
  const TemporaryDirectory dir;
  const std::string target = "../a b/" + std::string(200, 'x') + "\xff";
  dir.link("link", target);
  dir.write("file", "");

  EXPECT_EQ(value_of(read_link_beneath(dir.open().get(), "link")), target);
  EXPECT_EQ(os_code_of(read_link_beneath(dir.open().get(), "file")), EINVAL);
}

TEST(ReadTrustedFile, ReadsWhatOnlyThisUserMayWrite) {
  const TemporaryDirectory dir;
  const auto path = dir.write("f", "bytes", 0644);

  EXPECT_EQ(value_of(read_trusted_file(path, 5)), "bytes");
  EXPECT_EQ(code_of(read_trusted_file(path, 4)), "FILE_TOO_LARGE");
  EXPECT_EQ(os_code_of(read_trusted_file(dir / "nothing", 5)), ENOENT);
}

TEST(ReadTrustedFile, RefusesWhatOthersCouldHaveWrittenOrReplaced) {
  const TemporaryDirectory dir;
  dir.write("f", "bytes");
  dir.make("open", 0777);

  EXPECT_EQ(code_of(read_trusted_file(dir.write("group", "x", 0620), 5)), "FILE_UNTRUSTED");
  EXPECT_EQ(code_of(read_trusted_file(dir.write("world", "x", 0602), 5)), "FILE_UNTRUSTED");
  EXPECT_EQ(code_of(read_trusted_file(dir.link("link", "f"), 5)), "FILE_UNTRUSTED");
  EXPECT_EQ(code_of(read_trusted_file(dir.fifo("pipe"), 5)), "FILE_UNTRUSTED");
  EXPECT_EQ(code_of(read_trusted_file(dir.write("open/f", "x"), 5)), "DIRECTORY_UNSAFE");
}

TEST(ListDirectory, NamesEverythingAnyNumberOfTimes) {
  const TemporaryDirectory dir;
  dir.write(".hidden", "");
  dir.write("a\nb\xff", "");
  dir.make("sub");
  dir.link("dangling", "nothing");
  const auto root = dir.open();

  for (int i = 0; i < 2; ++i) {
    auto names = value_of(list_directory(root.get()));
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{".hidden", "a\nb\xff", "dangling", "sub"}));
  }
}

TEST(ListDirectory, RefusesAFile) {
  const TemporaryDirectory dir;

  EXPECT_EQ(os_code_of(list_directory(opened(dir.write("f", "")).get())), ENOTDIR);
}

// --- writing -----------------------------------------------------------------------------------------------

TEST(WriteAll, ReportsAFullDisk) {
  EXPECT_EQ(os_code_of(write_all(opened("/dev/full", O_WRONLY).get(), "x")), ENOSPC);
}

TEST(WriteAll, GoesOnAfterAShortWrite) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const std::string more_than_fits(std::size_t{4} << 20U, 'x');

  const auto written = write_all(write_end.get(), more_than_fits);

  EXPECT_EQ(os_code_of(written), EAGAIN);  // so it did try to write the rest
}

TEST(CreateFile, HasTheModeItWasAskedForWhateverTheUmask) {
  const TemporaryDirectory dir;
  const Umask mask(0777);

  value_of(create_file(dir / "f", "bytes", 0640));

  EXPECT_EQ(mode_of(dir / "f"), 0640U);
  EXPECT_EQ(bytes_of(dir / "f"), "bytes");
}

TEST(CreateFile, LeavesWhatStandsThereAsItIs) {
  const TemporaryDirectory dir;
  dir.write("f", "old");
  dir.link("dangling", "target");

  EXPECT_EQ(os_code_of(create_file(dir / "f", "new", 0600)), EEXIST);
  EXPECT_EQ(os_code_of(create_file(dir / "dangling", "new", 0600)), EEXIST);

  EXPECT_EQ(bytes_of(dir / "f"), "old");
  EXPECT_FALSE(exists(dir / "target"));
}

TEST(CreateFile, ReportsAMissingDirectory) {
  const TemporaryDirectory dir;

  EXPECT_EQ(os_code_of(create_file(dir / "nothing/f", "new", 0600)), ENOENT);
}

TEST(PublishFile, CreatesAFileWithTheModeItWasAskedFor) {
  const TemporaryDirectory dir;
  const Umask mask(0777);

  value_of(publish_file(dir / "f", "bytes", 0600));

  EXPECT_EQ(bytes_of(dir / "f"), "bytes");
  EXPECT_EQ(mode_of(dir / "f"), 0600U);
  EXPECT_EQ(sorted_names_in(dir), std::vector<std::string>{"f"});
}

TEST(PublishFile, NeverShowsAReaderAMixture) {
  const TemporaryDirectory dir;
  const auto reader = opened(dir.write("f", "the old bytes", 0644));

  value_of(publish_file(dir / "f", "new", 0600));

  EXPECT_EQ(value_of(read_regular(reader.get(), 100)), "the old bytes");
  EXPECT_EQ(bytes_of(dir / "f"), "new");
  EXPECT_EQ(mode_of(dir / "f"), 0600U);
  EXPECT_EQ(sorted_names_in(dir), std::vector<std::string>{"f"});
}

// What stands at the target, and must stand there afterwards.
class UnsafeTarget : public testing::Test {
 protected:
  void expect_refused_and_untouched(const std::string& path) {
    const auto before = sorted_names_in(dir);
    const auto facts = value_of(facts_at(AT_FDCWD, path));

    EXPECT_EQ(code_of(publish_file(path, "new", 0600)), "TARGET_UNSAFE");
    EXPECT_EQ(code_of(check_publishable(path)), "TARGET_UNSAFE");

    EXPECT_EQ(value_of(facts_at(AT_FDCWD, path)), facts);
    EXPECT_EQ(sorted_names_in(dir), before);
  }

  TemporaryDirectory dir;
};

TEST_F(UnsafeTarget, LinkToAFile) {
  const auto target = dir.write("target", "old");

  expect_refused_and_untouched(dir.link("f", target));

  EXPECT_EQ(bytes_of(target), "old");
}

TEST_F(UnsafeTarget, DanglingLink) {
  expect_refused_and_untouched(dir.link("f", dir / "target"));

  EXPECT_FALSE(exists(dir / "target"));
}

TEST_F(UnsafeTarget, Directory) { expect_refused_and_untouched(dir.make("f")); }

TEST_F(UnsafeTarget, Fifo) { expect_refused_and_untouched(dir.fifo("f")); }

TEST_F(UnsafeTarget, FileThatTheGroupMayWrite) {
  expect_refused_and_untouched(dir.write("f", "old", 0620));

  EXPECT_EQ(bytes_of(dir / "f"), "old");
}

TEST_F(UnsafeTarget, FileThatEveryoneMayWrite) {
  expect_refused_and_untouched(dir.write("f", "old", 0602));

  EXPECT_EQ(bytes_of(dir / "f"), "old");
}

TEST_F(UnsafeTarget, FileOfSomeoneElse) {
  const auto path = dir.write("f", "old");
  if (::chown(path.c_str(), kSomeoneElse, kSomeoneElse) != 0) GTEST_SKIP() << "only root can set this stage";

  expect_refused_and_untouched(path);
}

TEST(PublishFile, ReportsAMissingDirectory) {
  const TemporaryDirectory dir;

  EXPECT_FALSE(publish_file(dir / "nothing/f", "new", 0600));
  EXPECT_EQ(code_of(check_publishable(dir / "f")), "OK");
}

// --- directories -------------------------------------------------------------------------------------------

TEST(MakePrivateDirectory, MakesEveryMissingLevelPrivate) {
  const TemporaryDirectory dir;
  const Umask mask(0);

  value_of(make_private_directory(dir / "a/b/c"));

  for (const char* level : {"a", "a/b", "a/b/c"}) EXPECT_EQ(mode_of(dir / level), 0700U) << level;
}

TEST(MakePrivateDirectory, AcceptsWhatIsPrivateAlready) {
  const TemporaryDirectory dir;
  dir.make("d", 0700);

  EXPECT_EQ(code_of(make_private_directory(dir / "d")), "OK");
  EXPECT_EQ(code_of(make_private_directory(dir / "d")), "OK");
}

TEST(MakePrivateDirectory, VerifiesAndNeverRepairs) {
  const TemporaryDirectory dir;
  for (const mode_t mode : {0755U, 0750U, 0710U, 0701U, 0702U, 0777U, 01777U}) {
    const auto path = dir.make("d" + std::to_string(mode), mode);

    EXPECT_EQ(code_of(make_private_directory(path)), "DIRECTORY_UNSAFE") << std::oct << mode;

    EXPECT_EQ(mode_of(path), mode);
  }
}

TEST(MakePrivateDirectory, RefusesWhatIsNoDirectory) {
  const TemporaryDirectory dir;
  dir.make("real");
  const auto file = dir.write("file", "old");

  EXPECT_EQ(code_of(make_private_directory(dir.link("link", "real"))), "DIRECTORY_UNSAFE");
  EXPECT_EQ(code_of(make_private_directory(dir.link("dangling", "nothing"))), "DIRECTORY_UNSAFE");
  EXPECT_EQ(code_of(make_private_directory(file)), "DIRECTORY_UNSAFE");
  EXPECT_FALSE(make_private_directory(file + "/below"));

  EXPECT_FALSE(exists(dir / "nothing"));
  EXPECT_EQ(bytes_of(file), "old");
}

TEST(MakePrivateDirectory, RefusesSomeoneElsesDirectory) {
  const TemporaryDirectory dir;
  const auto path = dir.make("d");
  if (::chown(path.c_str(), kSomeoneElse, kSomeoneElse) != 0) GTEST_SKIP() << "only root can set this stage";

  EXPECT_EQ(code_of(make_private_directory(path)), "DIRECTORY_UNSAFE");
}

TEST(MakePrivateDirectory, MakesNothingWhereOthersCouldReplaceIt) {
  const TemporaryDirectory dir;
  dir.make("open", 0777);
  dir.make("real");
  dir.link("link", "real");

  EXPECT_EQ(code_of(make_private_directory(dir / "open/d")), "DIRECTORY_UNSAFE");
  EXPECT_EQ(code_of(make_private_directory(dir / "open/d/e")), "DIRECTORY_UNSAFE");
  EXPECT_EQ(code_of(make_private_directory(dir / "link/d")), "DIRECTORY_UNSAFE");

  EXPECT_FALSE(exists(dir / "open/d"));
  EXPECT_FALSE(exists(dir / "real/d"));
}

TEST(CheckAncestors, AcceptsDirectoriesThatOnlyThisUserMayWrite) {
  const TemporaryDirectory dir;
  dir.make("d", 0755);

  EXPECT_EQ(code_of(check_ancestors(dir / "d/f")), "OK");
  EXPECT_EQ(code_of(check_ancestors("/")), "OK");
}

TEST(CheckAncestors, RefusesADirectoryAtAnyHeightThatOthersMayWrite) {
  const TemporaryDirectory dir;
  for (const mode_t mode : {0770U, 0720U, 0707U, 0702U}) {
    const auto open = dir.make("d" + std::to_string(mode), mode);
    const auto below = dir.make("d" + std::to_string(mode) + "/below");

    EXPECT_EQ(code_of(check_ancestors(open + "/f")), "DIRECTORY_UNSAFE") << std::oct << mode;
    EXPECT_EQ(code_of(check_ancestors(below + "/f")), "DIRECTORY_UNSAFE") << std::oct << mode;
  }
}

TEST(CheckAncestors, AcceptsAStickyDirectory) {
  const TemporaryDirectory dir;
  dir.make("sticky", 01777);

  EXPECT_EQ(code_of(check_ancestors(dir / "sticky/f")), "OK");
}

TEST(CheckAncestors, RefusesALinkOnTheWay) {
  const TemporaryDirectory dir;
  dir.make("real");
  dir.link("link", "real");

  EXPECT_EQ(code_of(check_ancestors(dir / "link/f")), "DIRECTORY_UNSAFE");
}

TEST(CheckAncestors, RefusesSomeoneElsesDirectory) {
  const TemporaryDirectory dir;
  const auto path = dir.make("d");
  if (::chown(path.c_str(), kSomeoneElse, kSomeoneElse) != 0) GTEST_SKIP() << "only root can set this stage";

  EXPECT_EQ(code_of(check_ancestors(path + "/f")), "DIRECTORY_UNSAFE");
}

TEST(CheckAncestors, ReportsAMissingDirectory) {
  const TemporaryDirectory dir;

  EXPECT_EQ(os_code_of(check_ancestors(dir / "nothing/f")), ENOENT);
}

TEST(CheckAncestors, FollowsARelativePathUpToTheTop) {
  const TemporaryDirectory dir;
  dir.make("open", 0777);
  dir.make("open/here");
  const auto before = opened(".", O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::chdir((dir / "open/here").c_str()), 0);

  const auto checked = check_ancestors("f");

  ASSERT_EQ(::fchdir(before.get()), 0);
  EXPECT_EQ(code_of(checked), "DIRECTORY_UNSAFE");
}

TEST(CanonicalPath, HasNoLinksDotsOrDoubledSlashes) {
  const TemporaryDirectory dir;
  dir.make("real");
  dir.link("link", "real");

  EXPECT_EQ(value_of(canonical_path(dir.path() + "//link/.././link/")), dir / "real");
  EXPECT_EQ(os_code_of(canonical_path(dir / "nothing")), ENOENT);
}

TEST(RemoveTree, RemovesLinksWithoutFollowingThem) {
  const TemporaryDirectory dir;
  dir.make("kept");
  dir.write("kept/f", "kept");
  dir.make("tree");
  dir.make("tree/sub");
  dir.write("tree/sub/f", "");
  dir.link("tree/sub/out", dir / "kept");
  dir.link("out", dir / "kept");

  remove_tree(dir / "tree");
  remove_tree(dir / "out");
  remove_tree(dir / "nothing");

  EXPECT_EQ(sorted_names_in(dir), std::vector<std::string>{"kept"});
  EXPECT_EQ(bytes_of(dir / "kept/f"), "kept");
}

}  // namespace
}  // namespace repobridge::platform
