#include "platform/digest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "platform/random.h"
#include "tests/unit/results.h"
#include "tests/unit/temporary_directory.h"

namespace repobridge::platform {
namespace {

using tests::code_of;
using tests::TemporaryDirectory;
using tests::value_of;

struct Vector {
  std::string message;
  std::string digest;
};

// FIPS 180-4 and NIST's SHAVS.
const std::array<Vector, 5>& vectors() {
  static const std::array<Vector, 5> kVectors{{
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
      {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  }};
  return kVectors;
}

UniqueFd opened(const std::string& path) { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

TEST(Sha256, GivesThePublishedDigests) {
  for (const auto& vector : vectors()) EXPECT_EQ(sha256_hex(vector.message), vector.digest);
}

TEST(Sha256, DoesNotCareHowTheBytesAreCut) {
  for (const auto& vector : vectors()) {
    Sha256 digest;
    const std::string_view message = vector.message;

    for (std::size_t done = 0; done < message.size(); done += 63) digest.update(message.substr(done, 63));

    EXPECT_EQ(digest.hex(), vector.digest);
  }
}

TEST(Sha256, DigestsNulBytes) {
  EXPECT_EQ(sha256_hex(std::string_view("\0", 1)),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}

// RFC 4231, test cases 1 and 6: a key shorter than a block, and one that is longer.
TEST(Hmac, GivesThePublishedDigests) {
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(
      hmac_sha256_hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Sha1, GivesThePublishedDigestsAsRawBytes) {
  EXPECT_EQ(hex_of(sha1_bytes("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex_of(sha1_bytes("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_bytes("abc").size(), 20U);
}

TEST(Sha256OfADescriptor, IsThatOfItsBytes) {
  const TemporaryDirectory dir;
  for (const auto& vector : vectors()) {
    const auto path = dir.write("f", vector.message);

    EXPECT_EQ(value_of(sha256_of(opened(path).get(), vector.message.size())), vector.digest);

    ::unlink(path.c_str());
  }
}

TEST(Sha256OfADescriptor, TakesExactlyTheLimitAndNotAByteMore) {
  const TemporaryDirectory dir;
  const auto path = dir.write("f", std::string(200000, 'x'));

  EXPECT_EQ(code_of(sha256_of(opened(path).get(), 200000)), "OK");
  EXPECT_EQ(code_of(sha256_of(opened(path).get(), 199999)), "FILE_TOO_LARGE");
  EXPECT_EQ(code_of(sha256_of(opened(path).get(), 0)), "FILE_TOO_LARGE");
}

TEST(Sha256OfADescriptor, BeginsWhereTheDescriptorStands) {
  const TemporaryDirectory dir;
  const auto file = opened(dir.write("f", "xyzabc"));
  ASSERT_EQ(::lseek(file.get(), 3, SEEK_SET), 3);

  EXPECT_EQ(value_of(sha256_of(file.get(), 100)), sha256_hex("abc"));
}

TEST(Sha256OfADescriptor, ReportsWhatCannotBeRead) {
  const TemporaryDirectory dir;
  const auto directory = dir.open();

  EXPECT_EQ(tests::os_code_of(sha256_of(directory.get(), 100)), EISDIR);
}

}  // namespace
}  // namespace repobridge::platform
