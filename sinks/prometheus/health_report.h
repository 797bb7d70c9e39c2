// The health of a process, for a probe.
#ifndef MILLRACE_SINKS_PROMETHEUS_HEALTH_REPORT_H_
#define MILLRACE_SINKS_PROMETHEUS_HEALTH_REPORT_H_

#include <functional>
#include <string>

namespace millrace {

struct HealthReport {
  bool healthy = true;
  std::string text;  // one line, without a line feed
};

// Returns the health at the time of the call. Called by the thread of an HTTP server.
using HealthCheck = std::function<HealthReport()>;

}  // namespace millrace

#endif  // MILLRACE_SINKS_PROMETHEUS_HEALTH_REPORT_H_
