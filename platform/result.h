// Errors as values: the one error type of the project and the Result that carries it.
//
// Promise: nothing of ours throws; a function that can fail returns Result<T>. An Error's `message` is fixed
// text of ours plus policy names: never a host path, a secret or text from a child or a remote. What such
// text a caller needs stands in `details`, which is data. Errors: `kind` says what the caller can do next,
// `code` is the exact name (docs/ERRORS.md has a row for each). Threads: values, free to copy.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace repobridge {

// What the caller can do about an error. The numbers clients see are in status_of().
enum class Kind : std::uint8_t {
  invalid,
  forbidden,
  not_found,
  conflict,
  busy,
  unsupported,
  too_large,
  timeout,
  unavailable,
  internal,
  secret_blocked,
};

struct Error {
  Kind kind = Kind::internal;
  std::string code;
  std::string message;
  int os_code = 0;  // errno where one was the cause, for the log only

  // A JSON object for programs, or null. Shared because an error is copied on its way up while its details
  // never change, and a pointer keeps the JSON library out of the small static programs.
  std::shared_ptr<const nlohmann::json> details = nullptr;
};

template <class T = void>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

inline Failure fail(Error error) { return Failure(std::move(error)); }

// A fault of the host or of ours: what the operating system answered while we were doing `doing`.
Error os_error(std::string_view doing, int os_code);

inline Failure os_failure(std::string_view doing, int os_code) { return fail(os_error(doing, os_code)); }

}  // namespace repobridge

#define RB_CONCAT_INNER(a, b) a##b
#define RB_CONCAT(a, b) RB_CONCAT_INNER(a, b)

// RB_TRY(auto value, expression); declares `value` or returns the error of the expression.
#define RB_TRY_NAMED(temporary, declaration, ...)                          \
  auto temporary = (__VA_ARGS__);                                          \
  if (!temporary) return ::repobridge::fail(std::move(temporary).error()); \
  declaration = *std::move(temporary)
#define RB_TRY(declaration, ...) RB_TRY_NAMED(RB_CONCAT(rb_try_, __LINE__), declaration, __VA_ARGS__)

// RB_CHECK(expression); returns the error of a Result<void> expression.
#define RB_CHECK(...)                                                          \
  do {                                                                         \
    auto rb_checked = (__VA_ARGS__);                                           \
    if (!rb_checked) return ::repobridge::fail(std::move(rb_checked).error()); \
  } while (false)

// The same two for coroutines.
#define RB_CO_TRY_NAMED(temporary, declaration, ...)                          \
  auto temporary = (__VA_ARGS__);                                             \
  if (!temporary) co_return ::repobridge::fail(std::move(temporary).error()); \
  declaration = *std::move(temporary)
#define RB_CO_TRY(declaration, ...) RB_CO_TRY_NAMED(RB_CONCAT(rb_try_, __LINE__), declaration, __VA_ARGS__)
#define RB_CO_CHECK(...)                                                          \
  do {                                                                            \
    auto rb_checked = (__VA_ARGS__);                                              \
    if (!rb_checked) co_return ::repobridge::fail(std::move(rb_checked).error()); \
  } while (false)
