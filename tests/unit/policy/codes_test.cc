#include "policy/codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/details.h"

namespace repobridge::policy {
namespace {

struct KindRow {
  Kind kind;
  std::string_view name;
  int status;
};

// The contract with clients: see docs/ERRORS.md.
constexpr std::array kKinds = {KindRow{Kind::invalid, "invalid", 400},
                               KindRow{Kind::forbidden, "forbidden", 403},
                               KindRow{Kind::not_found, "not_found", 404},
                               KindRow{Kind::conflict, "conflict", 409},
                               KindRow{Kind::busy, "busy", 423},
                               KindRow{Kind::unsupported, "unsupported", 422},
                               KindRow{Kind::too_large, "too_large", 413},
                               KindRow{Kind::timeout, "timeout", 504},
                               KindRow{Kind::unavailable, "unavailable", 503},
                               KindRow{Kind::internal, "internal", 500},
                               KindRow{Kind::secret_blocked, "secret_blocked", 403}};

bool is_well_formed(std::string_view name) {
  const auto letter = [](char c) { return c >= 'A' && c <= 'Z'; };
  const bool characters = std::ranges::all_of(name, [&](char c) { return letter(c) || c == '_'; });
  return characters && !name.empty() && letter(name.front()) && letter(name.back()) && name.size() <= 40 &&
         name.find("__") == std::string_view::npos && name.find('_') != std::string_view::npos;
}

TEST(Codes, AreCapitalsAndSingleUnderscores) {
  for (const auto& code : all_codes()) EXPECT_TRUE(is_well_formed(code.name)) << code.name;
}

TEST(Codes, AreEachThereOnce) {
  std::set<std::string_view> names;

  for (const auto& code : all_codes()) EXPECT_TRUE(names.insert(code.name).second) << code.name;
}

TEST(Codes, AreFoundByTheirExactName) {
  for (const auto& code : all_codes()) EXPECT_EQ(find_code(code.name), &code);
  for (const char* name : {"", "NO_SUCH_CODE", "invalid_argument", "INVALID_ARGUMENT ", "INVALID"}) {
    EXPECT_EQ(find_code(name), nullptr) << name;
  }
}

TEST(Codes, HaveAKindThatClientsKnow) {
  for (const auto& code : all_codes()) {
    EXPECT_TRUE(std::ranges::any_of(kKinds, [&](const KindRow& row) { return row.kind == code.kind; }));
  }
}

TEST(Kinds, HaveTheNamesAndNumbersOfTheContract) {
  for (const auto& [kind, name, status] : kKinds) {
    EXPECT_EQ(name_of(kind), name);
    EXPECT_EQ(status_of(kind), status) << name;
  }
}

TEST(Refuse, CarriesTheCodesNameAndKind) {
  const Result<int> refused = refuse(codes::kWorkdirBusy, "wait a little");

  EXPECT_EQ(refused.error().code, "WORKDIR_BUSY");
  EXPECT_EQ(refused.error().kind, Kind::busy);
  EXPECT_EQ(refused.error().message, "wait a little");
  EXPECT_EQ(refused.error().os_code, 0);
  EXPECT_EQ(refused.error().details, nullptr);
}

TEST(Refuse, KeepsItsDetailsWhenItIsCopied) {
  const Result<int> refused = refuse(codes::kDeniedPath, "no", nlohmann::json{{"path", "a"}});

  const Result<int> copy = refused;

  EXPECT_EQ(tests::detail_of(copy, "path"), "a");
}

}  // namespace
}  // namespace repobridge::policy
