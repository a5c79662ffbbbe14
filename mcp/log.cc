#include "mcp/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace repobridge::mcp {

void start_log() {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("repobridge-mcp"));
  spdlog::set_level(spdlog::level::warn);
  spdlog::flush_on(spdlog::level::warn);
}

void log_failed_call(const Error& error) {
  log_warning("a call failed: " + error.code + ", errno " + std::to_string(error.os_code));
}

void log_warning(const std::string& text) { spdlog::default_logger_raw()->log(spdlog::level::warn, text); }

}  // namespace repobridge::mcp
