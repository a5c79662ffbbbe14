// What a test asks of a Result.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "platform/result.h"

namespace repobridge::tests {

// The code of a refusal, "OK" when there is none, so that a failed comparison shows what came instead.
template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "OK" : result.error().code;
}

template <class T>
int os_code_of(const Result<T>& result) {
  return result ? 0 : result.error().os_code;
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

// For what a test needs and does not examine. Throws, which gtest reports as a failure of that test.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().code + ": " + result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace repobridge::tests
