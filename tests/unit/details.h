// What the details of a refusal say.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "platform/result.h"

namespace repobridge::tests {

template <class T>
nlohmann::json details_of(const Result<T>& result) {
  return !result && result.error().details ? *result.error().details : nlohmann::json::object();
}

// One text of them, "(none)" when there is no such text.
template <class T>
std::string detail_of(const Result<T>& result, std::string_view name) {
  const auto details = details_of(result);
  const auto found = details.find(name);
  return found != details.end() && found->is_string() ? found->template get<std::string>() : "(none)";
}

template <class T>
std::string argument_of(const Result<T>& result) {
  return detail_of(result, "argument");
}

}  // namespace repobridge::tests
