// Samples in the text format of Prometheus.
#ifndef MILLRACE_SINKS_PROMETHEUS_METRICS_PAGE_H_
#define MILLRACE_SINKS_PROMETHEUS_METRICS_PAGE_H_

#include <map>
#include <string>

#include "framework/report/report_figures.h"

namespace millrace {

// Samples of metric families, each with its labels: `set="eval",metric="auc"`, or "" for none. No
// family has two samples with the same labels. Not thread-safe.
class MetricsPage {
 public:
  // Adds a sample, or replaces the sample with these labels.
  void set(const MetricFamily& family, const std::string& labels, double value);
  // Adds to a sample, which begins at 0.
  void add(const MetricFamily& family, const std::string& labels, double more);
  // Takes over all samples of another page, as set() does.
  void merge(const MetricsPage& other);

  // Returns the samples as the text exposition format 0.0.4 has them.
  std::string text() const;

 private:
  struct Samples {
    MetricFamily family;
    std::map<std::string, double> values;  // by labels
  };

  std::map<std::string, double>& samples(const MetricFamily& family);

  std::map<std::string, Samples> families_;  // by name
};

// Returns `name="value"` with the value escaped: backslash, quote and line feed.
std::string prometheus_label(const std::string& name, const std::string& value);

}  // namespace millrace

#endif  // MILLRACE_SINKS_PROMETHEUS_METRICS_PAGE_H_
