#include "bridge/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace repobridge::bridge {

void start_log() {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("repobridged"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %n %l %v", spdlog::pattern_time_type::utc);
}

void log_fault(const Error& error) {
  spdlog::error("{} {} (errno {})", error.code, error.message, error.os_code);
}

void log_refused_connection(const Error& error) {
  spdlog::warn("connection refused: {} {}", error.code, error.message);
}

void log_event(std::string_view event) { spdlog::info("{}", event); }

}  // namespace repobridge::bridge
