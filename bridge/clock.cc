#include "bridge/clock.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace repobridge::bridge {

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto since_epoch = now.time_since_epoch();
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  (void)::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  (void)std::snprintf(fraction.data(), fraction.size(), ".%03lldZ", static_cast<long long>(millis));
  return std::string(text.data(), length) + fraction.data();
}

}  // namespace repobridge::bridge
