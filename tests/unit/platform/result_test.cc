#include "platform/result.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/results.h"

namespace repobridge {
namespace {

using tests::code_of;

Result<int> number(bool good) {
  if (good) return 7;
  return fail(Error{.kind = Kind::busy, .code = "FIRST", .message = "the first fault"});
}

Result<int> doubled(bool good) {
  RB_TRY(const int value, number(good));
  return value * 2;
}

Result<void> checked(bool good, int& after) {
  RB_CHECK(number(good).map([](int) {}));
  ++after;
  return {};
}

TEST(Result, TryHandsOnTheValue) { EXPECT_EQ(doubled(true).value(), 14); }

TEST(Result, TryReturnsTheErrorAsItIs) {
  const auto result = doubled(false);

  EXPECT_EQ(code_of(result), "FIRST");
  EXPECT_EQ(result.error().kind, Kind::busy);
  EXPECT_EQ(result.error().message, "the first fault");
}

TEST(Result, CheckStopsAtAFault) {
  int after = 0;

  EXPECT_EQ(code_of(checked(false, after)), "FIRST");
  EXPECT_EQ(after, 0);
  EXPECT_EQ(code_of(checked(true, after)), "OK");
  EXPECT_EQ(after, 1);
}

TEST(OsError, SaysWhatWasDoneAndWhatTheSystemSaid) {
  const Error error = os_error("open a door", ENOENT);

  EXPECT_EQ(error.kind, Kind::internal);
  EXPECT_EQ(error.code, "INTERNAL_ERROR");
  EXPECT_EQ(error.os_code, ENOENT);
  EXPECT_EQ(error.message, "open a door: No such file or directory");
}

}  // namespace
}  // namespace repobridge
