// Metrics with the names by which a report has their values.
#ifndef MILLRACE_FRAMEWORK_REPORT_NAMED_METRICS_H_
#define MILLRACE_FRAMEWORK_REPORT_NAMED_METRICS_H_

#include <map>
#include <string>

#include "absl/types/span.h"
#include "metrics/metric.h"

namespace millrace {

struct NamedMetric {
  std::string name;
  const Metric* metric;
};

// Adds name → Metric::compute(), computed by the threads of LibTorch's pool. REQUIRES: the metrics
// are different objects.
void compute_metrics(absl::Span<const NamedMetric> metrics, std::map<std::string, double>& values);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_NAMED_METRICS_H_
