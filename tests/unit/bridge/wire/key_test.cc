#include "bridge/wire/key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::wire {
namespace {

using namespace std::string_view_literals;
using tests::bytes_of;
using tests::code_of;
using tests::mode_of;
using tests::TemporaryDirectory;
using tests::value_of;

const std::string kBytes(kKeyBytes, 'k');

TEST(CreateKey, MakesAPrivateFileThatIsReadBack) {
  const TemporaryDirectory dir;

  value_of(create_key(dir / "key"));

  EXPECT_EQ(mode_of(dir / "key"), 0600U);
  const auto key = value_of(read_key("front", dir / "key"));
  EXPECT_EQ(key.name, "front");
  EXPECT_EQ(key.bytes, bytes_of(dir / "key"));
  EXPECT_EQ(key.bytes.size(), kKeyBytes);
}

TEST(CreateKey, MakesAnotherKeyEachTime) {
  const TemporaryDirectory dir;

  value_of(create_key(dir / "a"));
  value_of(create_key(dir / "b"));

  EXPECT_NE(bytes_of(dir / "a"), bytes_of(dir / "b"));
}

TEST(CreateKey, LeavesWhatStandsThereAlone) {
  const TemporaryDirectory dir;
  const auto path = dir.write("key", kBytes);
  const auto dangling = dir.link("dangling", dir / "target");

  EXPECT_EQ(tests::os_code_of(create_key(path)), EEXIST);
  EXPECT_EQ(tests::os_code_of(create_key(dangling)), EEXIST);

  EXPECT_EQ(bytes_of(path), kBytes);
  EXPECT_FALSE(tests::exists(dir / "target"));
}

TEST(ReadKey, TakesAnyBytes) {
  const TemporaryDirectory dir;
  const std::string bytes("\0\n\r\x1a\xff 0123456789abcdefghijklmnop"sv);
  ASSERT_EQ(bytes.size(), kKeyBytes);

  EXPECT_EQ(value_of(read_key("k", dir.write("key", bytes))).bytes, bytes);
}

TEST(ReadKey, TakesExactly32Bytes) {
  const TemporaryDirectory dir;
  for (const std::size_t size : {0U, 1U, 31U, 33U, 64U, 100000U}) {
    const auto path = dir.write("key" + std::to_string(size), std::string(size, 'k'));

    EXPECT_EQ(code_of(read_key("k", path)), "KEY_UNSAFE") << size;
  }
}

TEST(ReadKey, TakesAFileThatIsClosedToOthers) {
  const TemporaryDirectory dir;
  for (const mode_t mode : {0600U, 0400U}) {
    EXPECT_EQ(code_of(read_key("k", dir.write("key" + std::to_string(mode), kBytes, mode))), "OK");
  }
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0601U, 0666U, 0644U}) {
    EXPECT_EQ(code_of(read_key("k", dir.write("key" + std::to_string(mode), kBytes, mode))), "KEY_UNSAFE")
        << mode;
  }
}

TEST(ReadKey, TakesARegularFileAndFollowsNoLink) {
  const TemporaryDirectory dir;
  const auto key = dir.write("key", kBytes);

  EXPECT_EQ(code_of(read_key("k", dir.link("link", key))), "KEY_UNSAFE");
  EXPECT_EQ(code_of(read_key("k", dir.make("directory"))), "KEY_UNSAFE");
  EXPECT_EQ(code_of(read_key("k", dir.fifo("pipe"))), "KEY_UNSAFE");
}

TEST(ReadKey, RefusesAKeyThatOthersCouldReplace) {
  const TemporaryDirectory dir;
  dir.make("open", 0777);
  dir.make("open/below");
  dir.make("real");
  dir.write("real/key", kBytes);
  dir.link("link", "real");

  EXPECT_EQ(code_of(read_key("k", dir.write("open/key", kBytes))), "KEY_UNSAFE");
  EXPECT_EQ(code_of(read_key("k", dir.write("open/below/key", kBytes))), "KEY_UNSAFE");
  EXPECT_EQ(code_of(read_key("k", dir / "link/key")), "KEY_UNSAFE");
}

TEST(ReadKey, RefusesSomeoneElsesKey) {
  const TemporaryDirectory dir;
  const auto path = dir.write("key", kBytes);
  if (::chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can set this stage";

  EXPECT_EQ(code_of(read_key("k", path)), "KEY_UNSAFE");
}

TEST(ReadKey, SaysThatThereIsNone) {
  const TemporaryDirectory dir;

  for (const auto& path : {dir / "nothing", dir / "nothing/key"}) {
    const auto refused = read_key("k", path);

    EXPECT_EQ(code_of(refused), "KEY_UNREADABLE");
    EXPECT_EQ(tests::os_code_of(refused), ENOENT);
    EXPECT_EQ(tests::message_of(refused).find(dir.path()), std::string::npos);
  }
}

}  // namespace
}  // namespace repobridge::wire
