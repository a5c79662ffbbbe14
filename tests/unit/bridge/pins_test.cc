#include "bridge/actions/pins.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <ctime>
#include <filesystem>

#include "platform/digest.h"
#include "tests/unit/details.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::actions {
namespace {

namespace fs = std::filesystem;
using platform::sha256_hex;
using policy::Json;
using policy::PinKind;
using policy::RepoPath;
using tests::code_of;
using tests::detail_of;
using tests::value_of;

RepoPath path(std::string_view bytes) { return value_of(RepoPath::from_bytes(bytes)); }

// A change after this has another time of change than one before.
void next_tick() {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return std::pair(time.tv_sec, time.tv_nsec);
  };
  for (const auto before = now(); now() == before;) {
  }
}

class PinnedFiles : public testing::Test {
 protected:
  [[nodiscard]] Result<Look> look(std::string_view name, PinKind kind) const {
    return look_at(root_.get(), path(name), kind);
  }
  [[nodiscard]] std::string digest(std::string_view name, PinKind kind = PinKind::directory) const {
    return value_of(look(name, kind)).now.digest;
  }

  // Pins `name` as it is, with what else the action pins.
  void pin(std::string_view name, PinKind kind) {
    action_.integrity.insert_or_assign(path(name), value_of(look(name, kind)).now);
  }
  [[nodiscard]] Result<Traces> verify() const { return verify_pins(root_.get(), action_); }
  static Json paths(const Result<void>& refused) { return tests::details_of(refused).value("paths", Json()); }
  static Json paths(const Result<Traces>& refused) {
    return paths(refused.map([](const Traces&) {}));
  }

  // What an action would be told after `meanwhile` had happened while it ran.
  template <class Meanwhile>
  [[nodiscard]] Result<void> ran(const Meanwhile& meanwhile) const {
    next_tick();
    const auto before = value_of(verify());
    meanwhile();
    return check_unchanged(action_, before, verify());
  }

  tests::TemporaryDirectory directory_;
  platform::UniqueFd root_ = directory_.open();
  policy::Action action_{.name = "check", .mutates = false};
};

TEST_F(PinnedFiles, HaveTheDigestOfTheirBytes) {
  directory_.write("a", "bytes\n");

  EXPECT_EQ(digest("a", PinKind::file), sha256_hex("bytes\n"));
}

TEST_F(PinnedFiles, HaveAManifestThatSaysEverything) {
  directory_.make("d");
  directory_.make("d/a");
  directory_.make("d/empty");
  directory_.write("d/a/b", "bytes\n", 0700);
  directory_.write("d/a.c", "");
  directory_.write("d/caf\xe9\n", "x");
  directory_.link("d/link", "a/\"b\"");

  EXPECT_EQ(digest("d"), sha256_hex("repobridge manifest 1\n"
                                    "dir \"a\"\n"
                                    "file x 6 " +
                                    sha256_hex("bytes\n") +
                                    " \"a/b\"\n"
                                    "file - 0 " +
                                    sha256_hex("") +
                                    " \"a.c\"\n"
                                    "file - 1 " +
                                    sha256_hex("x") +
                                    " \"caf\\351\\n\"\n"
                                    "dir \"empty\"\n"
                                    "link \"a/\\\"b\\\"\" \"link\"\n"));
}

TEST_F(PinnedFiles, HaveAnotherManifestAfterAnyChange) {
  directory_.make("d");
  directory_.make("d/sub");
  directory_.write("d/sub/f", "one");
  directory_.link("d/l", "f");
  const std::string all = directory_ / "d";
  std::set<std::string> digests{digest("d")};
  const auto another = [&] { return digests.insert(digest("d")).second; };

  directory_.write("d/extra", "");
  EXPECT_TRUE(another());
  fs::remove(directory_ / "d/extra");
  directory_.make("d/extra");
  EXPECT_TRUE(another());
  fs::remove(directory_ / "d/extra");
  fs::rename(directory_ / "d/sub/f", directory_ / "d/sub/g");
  EXPECT_TRUE(another());
  fs::permissions(directory_ / "d/sub/g", fs::perms::owner_exec, fs::perm_options::add);
  EXPECT_TRUE(another());
  fs::resize_file(directory_ / "d/sub/g", 0);
  EXPECT_TRUE(another());
  fs::remove(directory_ / "d/l");
  EXPECT_TRUE(another());
  directory_.link("d/l", "elsewhere");
  EXPECT_TRUE(another());
}

TEST_F(PinnedFiles, HaveNoManifestWithWhatItCannotHold) {
  directory_.make("d");
  directory_.make("d/sub");
  const auto refused = [&](const char* code, const char* where) {
    const auto seen = look("d", PinKind::directory);
    EXPECT_EQ(code_of(seen), code);
    EXPECT_EQ(detail_of(seen, "path"), where);
  };

  const auto fifo = directory_.fifo("d/sub/fifo");
  refused("REPO_PATH_UNSUPPORTED_TYPE", "d/sub/fifo");
  fs::remove(fifo);
  const auto git = directory_.make("d/sub/.git");
  refused("DENIED_PATH", "d/sub/.git");
  fs::remove(git);
  std::string deep = "d/sub";
  for (int level = 2; level < 64; ++level) directory_.make(deep += "/x");
  EXPECT_EQ(code_of(look("d", PinKind::directory)), "OK");
  directory_.make(deep += "/x");
  refused("REPO_PATH_TOO_LARGE", deep.c_str());
  fs::remove_all(directory_ / "d/sub/x");
  directory_.write("d/large", "");
  fs::resize_file(directory_ / "d/large", kMaxPinnedBytes + 1);  // sparse
  refused("REPO_PATH_TOO_LARGE", "d/large");
}

TEST_F(PinnedFiles, AreReachedThroughNoLink) {
  directory_.make("real");
  directory_.write("real/f", "f");
  directory_.link("linked", "real");
  directory_.link("name", "real/f");

  for (const auto kind : {PinKind::file, PinKind::directory, PinKind::absent}) {
    EXPECT_EQ(code_of(look("linked/f", kind)), "REPO_PATH_BEYOND_LINK");
  }
  EXPECT_EQ(code_of(look("name", PinKind::file)), "REPO_PATH_BEYOND_LINK");
  EXPECT_EQ(code_of(look("linked", PinKind::directory)), "REPO_PATH_BEYOND_LINK");
}

TEST_F(PinnedFiles, AreAbsentOnlyWhenNothingHasTheName) {
  directory_.write("file", "");
  directory_.make("dir");
  for (const char* gone : {"gone", "dir/gone", "gone/too", "file/x"}) {
    EXPECT_EQ(code_of(look(gone, PinKind::absent)), "OK") << gone;
  }

  directory_.link("dangling", "nowhere");
  directory_.fifo("fifo");

  for (const char* there : {"file", "dir", "dangling", "fifo"}) {
    EXPECT_EQ(code_of(look(there, PinKind::absent)), "REPO_PIN_MISMATCH") << there;
  }
}

TEST_F(PinnedFiles, ThatDriftAreNamed) {
  directory_.make("d");
  directory_.make("e");
  for (const char* name : {"a", "b", "d/f", "e/f"}) directory_.write(name, "");
  pin("a", PinKind::file);
  pin("b", PinKind::file);
  pin("d", PinKind::directory);
  pin("e", PinKind::directory);
  pin("gone", PinKind::absent);
  EXPECT_EQ(code_of(verify()), "OK");

  fs::resize_file(directory_ / "a", 1);
  fs::remove(directory_ / "b");
  fs::remove(directory_ / "d/f");
  directory_.fifo("e/fifo");
  directory_.link("gone", "nowhere");

  EXPECT_EQ(code_of(verify()), "REPO_PIN_MISMATCH");
  EXPECT_EQ(paths(verify()), (Json{"a", "b", "d/", "e/fifo", "gone"}));
}

TEST_F(PinnedFiles, ThatDriftInLargeNumbersAreCounted) {
  for (int i = 1000; i < 1150; ++i) {
    action_.integrity.emplace(path("f" + std::to_string(i)), policy::Pin{.digest = sha256_hex("")});
  }

  const auto refused = verify();

  EXPECT_EQ(paths(refused).size(), 100U);
  EXPECT_EQ(tests::details_of(refused).value("more", 0), 50);
}

TEST_F(PinnedFiles, ThatStayedAreNoNews) {
  directory_.make("d");
  directory_.write("d/f", "f");
  pin("d/f", PinKind::file);
  pin("d", PinKind::directory);
  pin("gone", PinKind::absent);

  EXPECT_EQ(code_of(ran([&] { (void)tests::bytes_of(directory_ / "d/f"); })), "OK");
}

// Another file of the same bytes, or the same file after others had its name.
TEST_F(PinnedFiles, ThatWereReplacedAndPutBackAreNoticed) {
  directory_.make("d");
  directory_.make("d/sub");
  directory_.write("d/sub/f", "f");
  directory_.write("evil", "evil");
  pin("d/sub/f", PinKind::file);
  const std::string file = directory_ / "d/sub/f";
  const std::string kept = directory_ / "kept";
  const auto refused = [&](const auto& meanwhile) {
    const auto done = ran(meanwhile);
    EXPECT_EQ(code_of(done), "REPO_PIN_MISMATCH");
    EXPECT_EQ(paths(done), Json{"d/sub/f"});
  };

  refused([&] {  // unlinked and made again
    fs::remove(file);
    directory_.write("d/sub/f", "f");
  });
  refused([&] {  // renamed over, and back
    fs::rename(file, kept);
    fs::rename(directory_ / "evil", file);
    fs::rename(file, directory_ / "evil");
    fs::rename(kept, file);
  });
  refused([&] {  // a parent's parent swapped, and back
    fs::rename(directory_ / "d", kept);
    directory_.make("d");
    fs::remove(directory_ / "d");
    fs::rename(kept, directory_ / "d");
  });
  refused([&] {  // written, and written back with its old times
    const auto time = fs::last_write_time(file);
    fs::resize_file(file, 0);
    fs::copy_file(directory_ / "evil", file, fs::copy_options::overwrite_existing);
    fs::remove(file);
    directory_.write("d/sub/f", "f");
    fs::last_write_time(file, time);
  });
}

TEST_F(PinnedFiles, InsideAPinnedDirectoryAreNoticedToo) {
  directory_.make("d");
  directory_.make("d/sub");
  directory_.write("d/sub/f", "f");
  pin("d", PinKind::directory);

  const auto done = ran([&] {
    fs::rename(directory_ / "d/sub/f", directory_ / "kept");
    fs::rename(directory_ / "kept", directory_ / "d/sub/f");
  });

  EXPECT_EQ(code_of(done), "REPO_PIN_MISMATCH");
  EXPECT_EQ(paths(done), Json{"d/"});
}

TEST_F(PinnedFiles, ThatCameAndWentAreNoticedWhereTheActionWritesNothing) {
  pin("gone", PinKind::absent);
  const auto come_and_go = [&] {
    directory_.write("gone", "");
    fs::remove(directory_ / "gone");
  };

  EXPECT_EQ(paths(ran(come_and_go)), Json{"gone"});
  action_.mutates = true;
  EXPECT_EQ(code_of(ran(come_and_go)), "OK");
  EXPECT_EQ(paths(ran([&] { directory_.write("gone", ""); })), Json{"gone"});
}

}  // namespace
}  // namespace repobridge::actions
