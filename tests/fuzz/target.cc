#include "tests/fuzz/target.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace repobridge::fuzz {

void must(bool holds, std::string_view property) {
  if (holds) return;
  std::cerr << "does not hold: " << property << std::endl;
  std::abort();
}

std::vector<std::string_view> parts_of(std::string_view bytes, std::size_t count, char separator) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const auto end = bytes.find(separator);
    parts.push_back(bytes.substr(0, end));
    bytes = end == std::string_view::npos ? std::string_view{} : bytes.substr(end + 1);
  }
  parts.push_back(bytes);
  return parts;
}

}  // namespace repobridge::fuzz

// The name that libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  repobridge::fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
