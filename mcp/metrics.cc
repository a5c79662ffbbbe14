#include "mcp/metrics.h"

#include <sstream>

#include "policy/codes.h"

namespace repobridge::mcp {
namespace {

// A code that is none of ours would be a series that somebody else names.
std::string known(const std::string& code) {
  return code == "OK" || policy::find_code(code) != nullptr ? code : "OTHER";
}

std::string head_of(std::string_view name, std::string_view type, std::string_view help) {
  std::string text = "# HELP ";
  text.append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ").append(type);
  return text.append("\n");
}

}  // namespace

void Metrics::call_ended(const std::string& tool, const std::string& code, std::chrono::nanoseconds took) {
  --in_flight_;
  ++calls_[{tool, known(code)}];
  Histogram& histogram = latency_[tool];
  const double seconds = std::chrono::duration<double>(took).count();
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds.at(i)) ++histogram.within.at(i);
  }
  ++histogram.count;
  histogram.sum_seconds += seconds;
}

void Metrics::call_refused(const std::string& tool, const std::string& code) {
  ++calls_[{tool, known(code)}];
}

std::string Metrics::text() const {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << head_of("repobridge_front_calls_total", "counter",
                 "Tool calls that the bridge ended, or that had no turn, by their code.");
  for (const auto& [labels, count] : calls_) {
    out << "repobridge_front_calls_total{tool=\"" << labels.first << "\",code=\"" << labels.second << "\"} "
        << count << "\n";
  }
  out << head_of("repobridge_front_call_seconds", "histogram",
                 "How long calls took that went to the bridge.");
  for (const auto& [tool, histogram] : latency_) {
    const std::string bucket = "repobridge_front_call_seconds_bucket{tool=\"" + tool + "\",le=\"";
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      out << bucket << kBounds.at(i) << "\"} " << histogram.within.at(i) << "\n";
    }
    out << bucket << "+Inf\"} " << histogram.count << "\n";
    out << "repobridge_front_call_seconds_sum{tool=\"" << tool << "\"} " << histogram.sum_seconds << "\n";
    out << "repobridge_front_call_seconds_count{tool=\"" << tool << "\"} " << histogram.count << "\n";
  }
  out << head_of("repobridge_front_answers_total", "counter", "HTTP answers, by their status.");
  for (const auto& [status, count] : answers_) {
    out << "repobridge_front_answers_total{status=\"" << status << "\"} " << count << "\n";
  }
  out << head_of("repobridge_front_connections", "gauge", "Connections of HTTP clients.");
  out << "repobridge_front_connections " << connections_ << "\n";
  out << head_of("repobridge_front_calls_in_flight", "gauge", "Calls that the bridge is at.");
  out << "repobridge_front_calls_in_flight " << in_flight_ << "\n";
  return out.str();
}

}  // namespace repobridge::mcp
